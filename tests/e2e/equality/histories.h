// Histories of an elastic job: memberships that follow each other, and how each ends.
#pragma once

#include <string>
#include <vector>

#include "e2e/equality/cells.h"

namespace ds::test {

/// One membership. It ends in a pause, after which nothing is redone, or in a crash.
struct Membership {
  Cell cell;      // settings; its world size is not used
  int ranks = 1;  // 1 to kMostRanks
  int last = 0;          // finished steps at its end
  bool crashes = false;  // else it pauses, or completes the run
  int ranks_per_node = 1;
  std::vector<int> nodes{};  // numbers; a number that occurs again is a node that stayed
};
using History = std::vector<Membership>;

/// Virtual ranks of elastic jobs, so the most ranks of a membership.
inline constexpr int kMostRanks = 16;

/// Draws 2 to 6 memberships of `steps` steps. One has the settings of `cell`; the others differ in
/// settings that must not change a bit. At most one node leaves between two memberships, and others
/// join. The same seed gives the same history.
History history_of(const Cell& cell, unsigned seed, int steps);

/// Returns "4 on nodes 0,1 until 7, crash; 3 on nodes 1,2 until 20".
std::string text_of(const History& history);

[[nodiscard]] int node_count(const Membership& membership);

}  // namespace ds::test
