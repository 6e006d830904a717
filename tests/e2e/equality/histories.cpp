// Draws random histories.
#include "e2e/equality/histories.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <set>

namespace ds::test {
namespace {

int nodes_for(int ranks, int per_node) { return (ranks + per_node - 1) / per_node; }

/// Returns the ranks per node for which there are `least` to `most` nodes and every rank has a buddy
/// unless there is one node; empty: none.
std::vector<int> choices_of(int ranks, int least, int most) {
  std::vector<int> choices;
  for (int per_node = 1; per_node <= ranks; ++per_node) {
    const int nodes = nodes_for(ranks, per_node);
    const bool has_buddies = nodes == 1 || 2 * per_node <= ranks;
    if (has_buddies && nodes >= least && nodes <= most) choices.push_back(per_node);
  }
  return choices;
}

/// Returns the most nodes of each membership with which all later ones lose one node at a time.
std::vector<int> most_nodes(const History& history) {
  std::vector<int> most(history.size());
  for (std::size_t i = history.size(); i-- > 0;) {
    const int ranks = history[i].ranks;
    const int limit = i + 1 < history.size() ? most[i + 1] + 1 : ranks;
    for (const int per_node : choices_of(ranks, 1, limit))
      most[i] = std::max(most[i], nodes_for(ranks, per_node));
  }
  return most;
}

/// Keeps the nodes of `before`, without one of them if `loses`, and adds new ones.
std::vector<int> next_nodes(std::vector<int> before, bool loses, int count, int& known,
                            std::mt19937& random) {
  if (loses && !before.empty())
    before.erase(before.begin() + static_cast<std::ptrdiff_t>(random() % before.size()));
  while (static_cast<int>(before.size()) < count) before.push_back(known++);
  std::ranges::shuffle(before, random);
  return before;
}

}  // namespace

int node_count(const Membership& membership) {
  return nodes_for(membership.ranks, membership.ranks_per_node);
}

History history_of(const Cell& cell, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::set<int> ends{steps};
  const int count = std::min(steps, 2 + static_cast<int>(random() % 5));
  while (static_cast<int>(ends.size()) < count)
    ends.insert(1 + static_cast<int>(random() % static_cast<unsigned>(steps - 1)));
  History history;
  const auto same = random() % static_cast<unsigned>(count);
  for (const int last : ends) {
    const bool is_given = history.size() == same;
    history.push_back({.cell = is_given ? cell : changed(cell, random),
                       .ranks = 1 + static_cast<int>(random() % kMostRanks),
                       .last = last,
                       .crashes = last != steps && random() % 3 != 0});
  }
  const std::vector<int> most = most_nodes(history);
  int known = 0;
  std::vector<int> nodes;
  for (std::size_t i = 0; i < history.size(); ++i) {
    Membership& now = history[i];
    const int had = static_cast<int>(nodes.size());
    const std::vector<int> choices = choices_of(now.ranks, std::max(1, had - 1), most[i]);
    now.ranks_per_node = choices[random() % choices.size()];
    const int wanted = node_count(now);
    const bool loses = had > 1 && (wanted < had || random() % 2 == 0);
    now.nodes = next_nodes(nodes, loses, wanted, known, random);
    nodes = now.nodes;
  }
  return history;
}

std::string text_of(const History& history) {
  std::string text;
  for (const Membership& each : history)
    text +=
        fmt::format("{}{} on nodes {} until {}{}", text.empty() ? "" : "; ", each.ranks,
                    fmt::join(each.nodes, ","), each.last, each.crashes ? ", crash" : "");
  return text;
}

}  // namespace ds::test
