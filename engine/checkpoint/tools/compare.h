// Two checkpoints side by side: what they say, and every element of what both have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/tools/flat_lines.h"
#include "engine/checkpoint/tools/verify.h"

namespace ds {

/// A state of a tensor that both have, of one shape.
struct StateComparison {
  std::string tensor{}, state{};
  std::int64_t elements = 0;
  std::int64_t differing = 0;   // in their bits
  double largest = 0;           // |a - b| among those where both are finite
  std::int64_t non_finite = 0;  // differing, and one of both is not finite
  std::string problem{};        // not empty: could not be read, and is not compared
};

struct ShapePair {
  std::string tensor{};
  std::vector<std::int64_t> a{}, b{};
};

struct Comparison {
  std::string folder_a{}, folder_b{};
  std::vector<LineDifference> training{};       // steps, samples, seed, schedule, loss scale
  std::vector<LineDifference> arithmetic{};     // what decides bits
  std::vector<LineDifference> config{};         // every key, also those that decide no bits
  std::vector<std::string> only_a{}, only_b{};  // "TENSOR" or "TENSOR STATE"
  std::vector<ShapePair> shapes{};
  std::vector<StateComparison> states{};  // in a's order

  /// Lines of the config do not count: which of them decide bits stands in the arithmetic list.
  [[nodiscard]] bool is_equal() const;
};

/// `threads`: each with a piece of both in memory. Errors: none of its own; what cannot be read is
/// said in `states`.
Comparison compare(const std::shared_ptr<const Checkpoint>& a,
                   const std::shared_ptr<const Checkpoint>& b, int threads,
                   const VerifyProgress& progress);

/// `all`: tensors without a difference too, and lists in full length.
std::string comparison_text(const Comparison& comparison, bool all);
std::string comparison_json(const Comparison& comparison);

}  // namespace ds
