// OpRow: everything that passes, the plan and the executor know of one op. One row per op; the
// passes read rows and never ask which of a model's ops it is.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/program/ops/bind.h"
#include "engine/program/program.h"

namespace ds {

class Reverse;  // engine/program/gradients.h

/// The operands of an op on one side, as in ops.h: "wpe?" may be kNoValue, "dwte+" may be added to,
/// "kv??" may be left out with all after it, "values..." stands for any number.
class Roles {
 public:
  constexpr Roles(std::initializer_list<const char*> names) {
    for (const std::string_view name : names) {
      optional_[count_] = name.find('?') != std::string_view::npos;
      if (name.find("??") == std::string_view::npos) least_ = count_ + 1;
      adds_[count_] = name.find('+') != std::string_view::npos;
      any_number_ = any_number_ || name.ends_with("...");
      ++count_;
    }
  }
  /// Returns whether the operands fit: their number, and that none is missing.
  [[nodiscard]] bool fit(const std::vector<ValueId>& ids) const;
  /// Returns whether operand `i` may be added to.
  [[nodiscard]] bool may_add(std::size_t i) const { return i < count_ && adds_.at(i); }

 private:
  static constexpr std::size_t kMost = 8;
  std::array<bool, kMost> optional_{}, adds_{};
  std::size_t count_ = 0, least_ = 0;  // operands at most and at least
  bool any_number_ = false;
};

/// Returns operand i; kNoValue where it was left out.
inline ValueId operand(const std::vector<ValueId>& ids, std::size_t i) {
  return i < ids.size() ? ids[i] : kNoValue;
}

/// The operands of one op, for checks and counts.
class Operands {
 public:
  Operands(const Program& program, const Op& op) : program_(program), op_(op) {}

  [[nodiscard]] const Value& in(std::size_t i) const { return program_.value(op_.in.at(i)); }
  [[nodiscard]] const Value& out(std::size_t i) const { return program_.value(op_.out.at(i)); }
  [[nodiscard]] bool has_in(std::size_t i) const { return operand(op_.in, i) != kNoValue; }
  [[nodiscard]] bool has_out(std::size_t i) const { return operand(op_.out, i) != kNoValue; }
  [[nodiscard]] const Op& op() const { return op_; }

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

/// What an op does to the step's decision, which is memory beside the tiers.
enum class Decision : std::uint8_t { none, reads, writes };

/// What the pass recompute() knows of an op.
struct Again {
  /// out[0] is in[0] + in[1] (in[0] alone: kNoValue). The other results follow from it, so a second
  /// run that has the sum does not need the two.
  bool sums_inputs = false;
  /// Returns the results that selective recomputation drops, as bits. `fused`: a result of a fused
  /// epilogue has other bits than the epilogue alone. Null: none.
  std::uint32_t (*cheap)(const Op& op, bool fused) = nullptr;
  /// Makes the second run smaller where it follows from a result that was kept (bit i of `kept`:
  /// out[i]). Null: it stays as it is.
  void (*shrink)(Op& op, std::uint32_t kept, bool fused) = nullptr;
};

struct OpRow {
  std::string_view name;
  Roles in, out;
  /// Checks shapes, types and attributes; roles are checked before. Violations are bugs.
  void (*check)(const Operands&);
  BoundOp (*bind)(const OpSite&);
  /// Emits the reverse of the op; nothing when no result of it reaches the loss. Null: models
  /// cannot use the op.
  void (*reverse)(Reverse&, const Op&) = nullptr;
  /// The op's reverse computes its results too, and takes its place: it begins the backward pass.
  bool is_loss = false;
  Again again{};
  /// FLOPs of its matrix products. Null: 0.
  double (*flops)(const Operands&) = nullptr;
  /// Those FLOPs are of rows with a target; rows without one cost nothing.
  bool counts_targets = false;
  /// Its kernel writes the backend's shared scratch (Kernels::set_workspace).
  bool uses_scratch = false;
  Decision decision = Decision::none;
  /// Returns whether its arguments change from step to step, so that it cannot be part of a
  /// recorded segment. Null: never.
  bool (*varies)(const Op&) = nullptr;
  /// Prints the attributes that differ from their defaults, each with a space before it. Null:
  /// none.
  std::string (*print)(const Op&) = nullptr;
};

/// Returns the row of an op.
const OpRow& row_of(const Op& op);

// For `varies` and `cheap`.
inline bool always(const Op&) { return true; }
inline std::uint32_t all_results(const Op&, bool) { return ~0U; }

}  // namespace ds
