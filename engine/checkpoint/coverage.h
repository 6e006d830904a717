// Counting elements of boxes without overflow, and finding what pieces leave out. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// The product of `extents`; nothing where one is below 1, there are too many, or their elements
/// of 8 bytes would not fit an int64.
std::optional<std::int64_t> elements_of(std::span<const std::int64_t> extents);

/// Distinct boxes of one state (of one rank, if per rank) at most: comparing takes their square.
inline constexpr std::size_t kMaxBoxes = 4096;

/// As uncovered() of manifest_text.h. Every piece lies in its box, and its box in the shape.
std::string find_uncovered(std::span<const std::int64_t> shape, std::span<const Piece> pieces);

}  // namespace ds
