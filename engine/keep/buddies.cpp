// Orders ranks by node and moves each one on by the size of the largest node.
#include "engine/keep/buddies.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ds {

// Ranks of one node are adjacent in the order, so a distance of the largest node's size leaves
// every node, also past the end of the order, as long as no node has more than half of the ranks.
std::vector<int> buddies_of(std::span<const int> nodes) {
  const std::size_t count = nodes.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto node_of = [&](std::size_t rank) { return nodes[rank]; };
  std::ranges::stable_sort(order, {}, node_of);
  std::map<int, std::size_t> sizes;
  for (const int node : nodes) ++sizes[node];
  std::size_t largest = 0;
  for (const auto& [node, size] : sizes) largest = std::max(largest, size);
  std::vector<int> buddies(count, kNoBuddy);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t to = order[(i + largest) % count];
    if (nodes[to] != nodes[order[i]]) buddies[order[i]] = static_cast<int>(to);
  }
  return buddies;
}

std::vector<int> wards_of(std::span<const int> buddies) {
  std::vector<int> wards(buddies.size(), kNoBuddy);
  for (std::size_t rank = 0; rank < buddies.size(); ++rank)
    if (buddies[rank] != kNoBuddy)
      wards[static_cast<std::size_t>(buddies[rank])] = static_cast<int>(rank);
  return wards;
}

std::vector<int> numbers_of(std::span<const std::string> names) {
  std::vector<int> numbers;
  for (const std::string& name : names)
    numbers.push_back(static_cast<int>(std::ranges::find(names, name) - names.begin()));
  return numbers;
}

}  // namespace ds
