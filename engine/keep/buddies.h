// buddies_of(): which rank on another node keeps the copy of which rank. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ds {

/// Stands for a rank without a buddy.
inline constexpr int kNoBuddy = -1;

/// Returns, by rank, the rank that keeps its copy, always on another node; kNoBuddy where there is
/// none. `nodes` has the node of each rank, as any numbers. No rank is the buddy of two. If no node
/// has more than half of the ranks, every rank has a buddy; else as many as possible have one.
std::vector<int> buddies_of(std::span<const int> nodes);

/// Returns, by rank, the rank whose copy it keeps (its ward), or kNoBuddy.
std::vector<int> wards_of(std::span<const int> buddies);

/// Returns the number of the first rank with the same name, by rank: nodes for buddies_of().
std::vector<int> numbers_of(std::span<const std::string> names);

}  // namespace ds
