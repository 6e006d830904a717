// From which op to which op each value's bytes are needed. Views count for their bases.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// Both ends belong to it: an op's results never share bytes with what it reads.
struct Life {
  int first = -1, last = -1;  // indices of ops; -1: no bytes needed
  [[nodiscard]] bool used() const { return first >= 0; }
  [[nodiscard]] bool meets(const Life& other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Lives of transient base values, by id; views and persistent values have none. Inputs are written
/// before the first op; what an op of another stream than compute uses lives some ops longer
/// (places in the list are times only where streams keep step); results (losses, counts, the final
/// activation, the groups' gradients) stay until after the last.
std::vector<Life> lives_of(const Program& program);

/// The value whose memory `id` lies in, and where in it, in bytes.
struct Home {
  ValueId base = kNoValue;
  std::int64_t offset = 0;
};
Home home_of(const Program& program, ValueId id);

/// Whether the op belongs to the reverse of the model: what comes first of these ends the forward
/// pass of a differentiated program.
bool is_backward(const Op& op);

inline std::int64_t bytes_of(const Value& value) {
  return value.shape.elements() * size_of(value.dtype);
}

}  // namespace ds
