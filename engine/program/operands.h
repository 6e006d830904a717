// Operands: the operands of one op, for checks.
#pragma once

#include "engine/program/program.h"

namespace ds {

class Operands {
 public:
  Operands(const Program& program, const Op& op) : program_(program), op_(op) {}

  void count(std::size_t in, std::size_t out) const {
    DS_ASSERT(op_.in.size() == in && op_.out.size() == out,
              "the op has the wrong number of operands");
  }
  [[nodiscard]] const Value& in(std::size_t i) const { return program_.value(op_.in.at(i)); }
  [[nodiscard]] const Value& out(std::size_t i) const { return program_.value(op_.out.at(i)); }
  [[nodiscard]] bool has_in(std::size_t i) const { return op_.in.at(i) != kNoValue; }
  [[nodiscard]] bool has_out(std::size_t i) const { return op_.out.at(i) != kNoValue; }
  [[nodiscard]] const OpAttrs& attrs() const { return op_.attrs; }
  [[nodiscard]] const std::vector<ValueId>& ins() const { return op_.in; }
  [[nodiscard]] const std::vector<ValueId>& outs() const { return op_.out; }

 private:
  const Program& program_;
  const Op& op_;
};

inline std::int64_t rows(const Value& v) { return v.shape[0]; }
inline std::int64_t columns(const Value& v) { return v.shape[1]; }
inline bool same(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}
inline bool is(const Value& v, DType dtype, const Shape& shape) {
  return v.dtype == dtype && v.shape == shape;
}

}  // namespace ds
