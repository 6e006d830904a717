// lives_of(): from which op to which op each value's bytes are needed. Views count for their bases.
#pragma once

#include <algorithm>

#include "engine/program/program.h"

namespace ds {

/// Both ends are included: an op's results never share bytes with its operands.
struct Life {
  int first = -1, last = -1;  // indices of ops; -1: no bytes needed
  [[nodiscard]] bool used() const { return first >= 0; }
  [[nodiscard]] bool meets(const Life& other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Returns the lives of transient base values, by id; views and values that last have none. Inputs
/// are written before the first op. Values used by streams other than compute live some ops longer,
/// because indices are times only within one stream. Results (losses, counts, the final activation,
/// the groups' gradients) live until after the last op.
std::vector<Life> lives_of(const Program& program);

/// The base value whose memory `id` lies in, and the offset in it, in bytes.
struct Home {
  ValueId base = kNoValue;
  std::int64_t offset = 0;
};
Home home_of(const Program& program, ValueId id);

/// Returns the index of the first op of the backward pass; the number of ops if there is none.
inline std::size_t forward_ops(const std::vector<Op>& ops) {
  const auto is_backward = [](const Op& op) { return op.phase == Phase::backward; };
  return static_cast<std::size_t>(std::ranges::find_if(ops, is_backward) - ops.begin());
}

inline std::int64_t bytes_of(const Value& value) {
  return value.shape.elements() * size_of(value.dtype);
}

}  // namespace ds
