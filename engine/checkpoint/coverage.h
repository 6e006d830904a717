// Counts the elements of boxes without overflow and finds elements that pieces do not cover. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// Returns the product of `extents`; nothing if one is below 1, if there are too many, or if the
/// bytes of 8-byte elements would overflow an int64.
std::optional<std::int64_t> elements_of(std::span<const std::int64_t> extents);

/// Limit of distinct boxes of one state (of one rank, if per rank), as comparing them is quadratic.
inline constexpr std::size_t kMaxBoxes = 4096;

/// Does what uncovered() of manifest_text.h does. Every piece is within its box, every box within
/// the shape.
std::string find_uncovered(std::span<const std::int64_t> shape, std::span<const Piece> pieces);

}  // namespace ds
