#include "launcher/mpi/process_mapping.h"

#include <fmt/format.h>

#include <cstddef>

namespace ds::launcher {
namespace {

struct MappingBlock {
  int first = 0;  // node
  int nodes = 1;
  int ranks = 1;  // on each node
  friend bool operator==(const MappingBlock&, const MappingBlock&) = default;
};

std::vector<MappingBlock> blocks_of(const std::vector<int>& node_of_rank) {
  std::vector<MappingBlock> blocks;
  for (std::size_t rank = 0; rank < node_of_rank.size();) {
    const int node = node_of_rank[rank];
    int count = 0;
    for (; rank < node_of_rank.size() && node_of_rank[rank] == node; ++rank) ++count;
    if (!blocks.empty() && blocks.back().first + blocks.back().nodes == node &&
        blocks.back().ranks == count)
      ++blocks.back().nodes;
    else
      blocks.push_back({node, 1, count});
  }
  return blocks;
}

}  // namespace

std::string process_mapping(const std::vector<int>& node_of_rank, std::size_t limit) {
  std::vector<MappingBlock> blocks = blocks_of(node_of_rank);
  bool all_equal = true;
  for (const MappingBlock& block : blocks) all_equal = all_equal && block == blocks.front();
  if (all_equal && !blocks.empty()) blocks.resize(1);
  std::string text = "(vector";
  for (const MappingBlock& block : blocks)
    text += fmt::format(",({},{},{})", block.first, block.nodes, block.ranks);
  text += ')';
  return text.size() <= limit ? text : std::string();
}

}  // namespace ds::launcher
