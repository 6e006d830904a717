// Tests which ranks share a node, as MPICH reads it.
#include "launcher/mpi/process_mapping.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

namespace {

constexpr std::size_t kNoLimit = 100'000;

/// Returns the node of each of `ranks` ranks, read as MPICH reads the text.
std::vector<int> nodes_in(const std::string& text, std::size_t ranks) {
  std::vector<int> nodes;
  while (nodes.size() < ranks) {
    const std::size_t before = nodes.size();
    int first = 0, count = 0, size = 0;
    for (std::size_t at = text.find(",("); at != std::string::npos; at = text.find(",(", at + 1)) {
      REQUIRE(std::sscanf(text.c_str() + at, ",(%d,%d,%d)", &first, &count, &size) == 3);
      for (int node = first; node < first + count; ++node)
        nodes.insert(nodes.end(), static_cast<std::size_t>(size), node);
    }
    REQUIRE(nodes.size() > before);
  }
  nodes.resize(ranks);
  return nodes;
}

}  // namespace

TEST_CASE("blocks of nodes") {
  CHECK(process_mapping({0}, kNoLimit) == "(vector,(0,1,1))");
  CHECK(process_mapping({0, 0, 1, 1, 2, 2}, kNoLimit) == "(vector,(0,3,2))");
  CHECK(process_mapping({0, 0, 1, 2}, kNoLimit) == "(vector,(0,1,2),(1,2,1))");
  CHECK(process_mapping({0, 1, 2, 0, 1, 2}, kNoLimit) == "(vector,(0,3,1))");
  CHECK(process_mapping({0, 1, 2, 0, 1, 0}, kNoLimit) == "(vector,(0,3,1),(0,2,1),(0,1,1))");
}

TEST_CASE("MPICH reads the nodes that were meant") {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0, 1},
                                        {0, 1, 1, 0, 2, 2},
                                        {0, 1, 0, 1, 0, 1},
                                        {0, 1, 2, 0, 1, 2, 0},
                                        {0, 0, 1, 1, 0, 0, 1, 1}})
    CHECK(nodes_in(process_mapping(nodes, kNoLimit), nodes.size()) == nodes);
}

TEST_CASE("a text beyond the longest value is left out") {
  std::vector<int> nodes;
  for (int i = 0; i < 200; ++i) nodes.push_back(i % 7 * (i % 3));
  CHECK(process_mapping(nodes, 1023).empty());
  CHECK_FALSE(process_mapping(nodes, kNoLimit).empty());
}
