#include "launcher/job/master_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMostCandidates = 16;
constexpr std::size_t kShownBytes = 120;  // of a node's text

/// Returns how many of the other nodes have an address in the same subnet.
int neighbours(const NodeAddress& own, const std::vector<NodeView>& nodes) {
  const std::optional<AddressBytes> bytes = parse_address(own.address);
  if (!bytes || own.prefix == 0) return 0;
  const auto is_in = [network = Network(*bytes, own.prefix)](const NodeAddress& other) {
    const std::optional<AddressBytes> there = parse_address(other.address);
    return there && network.contains(*there);
  };
  return static_cast<int>(std::count_if(nodes.begin() + 1, nodes.end(), [&](const NodeView& node) {
    return std::ranges::any_of(node.addresses, is_in);
  }));
}

std::string address_text(const NodeAddress& place) {
  return place.interface.empty() ? place.address
                                 : fmt::format("{} ({})", place.address, place.interface);
}

}  // namespace

bool share_network(const std::vector<NodeView>& nodes) { return probing_nodes(nodes).empty(); }

std::vector<int> probing_nodes(const std::vector<NodeView>& nodes) {
  std::set<std::string> known{nodes.front().network};
  std::vector<int> probing;
  for (std::size_t node = 1; node < nodes.size(); ++node)
    if (nodes[node].network.empty() || known.insert(nodes[node].network).second)
      probing.push_back(static_cast<int>(node));
  return probing;
}

std::vector<int> nodes_beside(const std::vector<NodeView>& nodes, const std::vector<int>& probing,
                              const std::vector<std::size_t>& probers) {
  std::vector<int> beside;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto is_beside = [&](std::size_t prober) {
      const auto other = static_cast<std::size_t>(probing[prober]);
      return other == node ||
             (!nodes[node].network.empty() && nodes[other].network == nodes[node].network);
    };
    if (std::ranges::any_of(probers, is_beside)) beside.push_back(static_cast<int>(node));
  }
  return beside;
}

std::vector<NodeAddress> master_candidates(const std::vector<NodeView>& nodes,
                                           const std::string& reached,
                                           const std::optional<InterfaceChoice>& choice) {
  using Key = std::tuple<bool, bool, bool, int, bool>;  // false and less first
  const bool shared = share_network(nodes);
  std::vector<std::pair<Key, NodeAddress>> sorted;
  for (const NodeAddress& own : nodes.front().addresses) {
    const std::optional<AddressBytes> bytes = parse_address(own.address);
    if (!bytes) continue;
    const AddressKind kind = kind_of(*bytes);
    if (kind == AddressKind::link_local_v6) continue;  // needs a zone, which differs by node
    if (kind == AddressKind::loopback && !shared) continue;
    if (choice && !choice->fits(own.interface, own.address)) continue;
    sorted.push_back({Key{kind == AddressKind::loopback, kind == AddressKind::link_local_v4,
                          own.address != reached, -neighbours(own, nodes), !is_v4(*bytes)},
                      own});
  }
  std::ranges::stable_sort(sorted, {}, &std::pair<Key, NodeAddress>::first);
  if (sorted.size() > kMostCandidates) sorted.resize(kMostCandidates);
  std::vector<NodeAddress> candidates;
  for (auto& [key, place] : sorted) candidates.push_back(std::move(place));
  return candidates;
}

std::string interface_of(const InterfaceChoice& choice, const std::vector<NodeAddress>& addresses) {
  for (const NodeAddress& own : addresses) {
    const std::optional<AddressBytes> bytes = parse_address(own.address);
    const bool usable = bytes && kind_of(*bytes) != AddressKind::link_local_v6;
    if (usable && !own.interface.empty() && choice.fits(own.interface, own.address))
      return own.interface;
  }
  return {};
}

std::string interface_problem(const std::string& host, const InterfaceChoice& choice,
                              const std::vector<NodeAddress>& addresses) {
  if (!interface_of(choice, addresses).empty()) return {};
  std::vector<std::string> names;
  for (const NodeAddress& own : addresses) {
    const std::string name = choice.network ? address_text(own) : own.interface;
    if (!name.empty() && std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return fmt::format("{}: no interface {} {} (it has {})", host,
                     choice.network ? "with an address in" : "named", choice.text,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

MasterSearch::MasterSearch(std::vector<NodeAddress> candidates, std::vector<std::string> probers,
                           Clock::time_point now)
    : probers_(std::move(probers)), results_(probers_.size()), began_(now) {
  for (NodeAddress& place : candidates) candidates_.push_back({.place = std::move(place)});
  for (auto& row : results_) row.resize(candidates_.size());
  open_results_ = probers_.size() * candidates_.size();
}

void MasterSearch::take(std::size_t prober, const Probed::Result& result, Clock::time_point now) {
  DS_ASSERT(prober < results_.size());
  if (result.index >= candidates_.size()) return;
  Result& known = results_[prober][result.index];
  if (known) return;
  known = result.problem;
  --open_results_;
  Candidate& candidate = candidates_[result.index];
  if (!result.problem.empty()) {
    candidate.failed = true;
  } else if (++candidate.reached_by == probers_.size() && !first_found_) {
    first_found_ = now;
  }
}

MasterSearch::State MasterSearch::look(Clock::time_point now) {
  bool better_may_come = false;
  const bool patient = now < began_ + kPatience;
  for (const Candidate& candidate : candidates_) {
    if (candidate.reached_by == probers_.size()) {
      if (better_may_come && now < wake_at()) return State::searching;
      address_ = candidate.place.address;
      return State::found;
    }
    better_may_come = better_may_come || !candidate.failed;
  }
  // Nothing can be found any more: wait until the table is complete.
  return patient && open_results_ > 0 ? State::searching : State::missing;
}

Clock::time_point MasterSearch::wake_at() const {
  const Clock::time_point last = began_ + kPatience;
  return first_found_ ? std::min(*first_found_ + kForBetter, last) : last;
}

std::vector<std::size_t> MasterSearch::unfinished() const {
  std::vector<std::size_t> probers;
  for (std::size_t prober = 0; prober < results_.size(); ++prober) {
    if (std::ranges::count(results_[prober], false, &Result::has_value) > 0)
      probers.push_back(prober);
  }
  return probers;
}

std::vector<std::size_t> MasterSearch::cut_off() const {
  const auto best = std::ranges::max_element(candidates_, {}, &Candidate::reached_by);
  std::vector<std::size_t> probers;
  for (std::size_t prober = 0; best != candidates_.end() && prober < results_.size(); ++prober) {
    const Result& result =
        results_[prober][static_cast<std::size_t>(best - candidates_.begin())];
    if (!result || !result->empty()) probers.push_back(prober);
  }
  return probers;
}

std::string MasterSearch::row(std::size_t prober) const {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Result& result = results_[prober][i];
    // Text from a node is cut and cleaned: it goes to a terminal.
    const std::string said = !result           ? "not said in time"
                             : result->empty() ? "reached"
                                               : printable_text(*result, kShownBytes);
    cells.push_back(fmt::format("{}: {}", address_text(candidates_[i].place), said));
  }
  return fmt::format("{}", fmt::join(cells, "; "));
}

std::string MasterSearch::table(const std::string& master) const {
  ByText<std::string> rows;
  for (std::size_t prober = 0; prober < probers_.size(); ++prober)
    rows.add(row(prober), probers_[prober]);
  std::string text = fmt::format("no address of {} is reached by all other nodes:", master);
  for (const auto& [line, names] : rows) text += fmt::format("\n  {}: {}", fold_names(names), line);
  return text +
         "\n  hint: does a firewall drop connections between nodes? --iface names the network to "
         "use,\n        --master-addr an address that is not tested";
}

}  // namespace ds::launcher
