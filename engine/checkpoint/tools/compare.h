// Compares two checkpoints: their manifests, and every element of the states that both have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/tools/flat_lines.h"
#include "engine/checkpoint/tools/verify.h"

namespace ds {

/// A state that both have, with the same shape.
struct StateComparison {
  std::string tensor{}, state{};
  std::int64_t elements = 0;
  std::int64_t differing = 0;   // elements whose bits differ
  double largest = 0;           // largest |a - b| where both are finite
  std::int64_t non_finite = 0;  // differing elements of which one is not finite
  std::string problem{};        // not empty: why the state could not be compared
};

struct ShapePair {
  std::string tensor{};
  std::vector<std::int64_t> a{}, b{};
};

struct Comparison {
  std::string folder_a{}, folder_b{};
  std::vector<LineDifference> training{};       // steps, samples, seed, schedule, loss scale
  std::vector<LineDifference> arithmetic{};     // settings that decide bits
  std::vector<LineDifference> config{};         // all keys, also those that decide no bits
  std::vector<std::string> only_a{}, only_b{};  // "TENSOR" or "TENSOR STATE"
  std::vector<ShapePair> shapes{};
  std::vector<StateComparison> states{};  // in a's order

  /// Returns whether both are equal. The config is ignored, unlike the arithmetic list.
  [[nodiscard]] bool is_equal() const;
};

/// Compares with `threads` threads, each with a piece of both in memory. Errors: none; a state that
/// cannot be read has its problem in `states`.
Comparison compare(const std::shared_ptr<const Checkpoint>& a,
                   const std::shared_ptr<const Checkpoint>& b, int threads,
                   const VerifyProgress& progress);

/// `all`: also tensors without a difference, and lists in full length.
std::string comparison_text(const Comparison& comparison, bool all);
std::string comparison_json(const Comparison& comparison);

}  // namespace ds
