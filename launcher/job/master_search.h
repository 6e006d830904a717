// Chooses MASTER_ADDR: sorts the addresses of node 0 and takes one that all other nodes reach.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/hosts/network.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// One node, as the search sees it.
struct NodeView {
  std::string host{};
  std::string network{};                 // Hello::network
  std::vector<NodeAddress> addresses{};  // Hello::addresses
};

/// Returns whether all nodes have the same interfaces: all reach any address of node 0, loopback
/// too.
bool share_network(const std::vector<NodeView>& nodes);
/// Returns the nodes that must try: one of each network except that of node 0.
std::vector<int> probing_nodes(const std::vector<NodeView>& nodes);
/// Returns these probers' nodes and all others with the same interfaces. `probing`: the node of each
/// prober.
std::vector<int> nodes_beside(const std::vector<NodeView>& nodes, const std::vector<int>& probing,
                              const std::vector<std::size_t>& probers);
/// Returns addresses of node 0, the best first: `reached`, by which the launcher reached it; then
/// by other nodes in the subnet; IPv4; link-local last. Loopback only if all share the network.
std::vector<NodeAddress> master_candidates(const std::vector<NodeView>& nodes,
                                           const std::string& reached,
                                           const std::optional<InterfaceChoice>& choice);
/// Returns the name of the node's requested interface; empty: it has none.
std::string interface_of(const InterfaceChoice& choice, const std::vector<NodeAddress>& addresses);
/// Returns why a node cannot take part; empty: it can.
std::string interface_problem(const std::string& host, const InterfaceChoice& choice,
                              const std::vector<NodeAddress>& addresses);

/// Collects results of probers and chooses an address.
/// Promise: the best candidate wins as soon as all probers reach it; a worse one waits kForBetter
///          for better ones. The search ends after kPatience; probers send their last result
///          earlier.
class MasterSearch {
 public:
  static constexpr std::chrono::milliseconds kForBetter{200};
  static constexpr std::chrono::seconds kPatience{6};

  enum class State { searching, found, missing };

  /// `probers`: their names.
  MasterSearch(std::vector<NodeAddress> candidates, std::vector<std::string> probers,
               Clock::time_point now);

  void take(std::size_t prober, const Probed::Result& result, Clock::time_point now);
  State look(Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const;
  /// Returns the chosen address, once found.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Returns the probers that still try an address.
  [[nodiscard]] std::vector<std::size_t> unfinished() const;
  /// Returns the probers that do not reach the address that most probers reach, once missing.
  [[nodiscard]] std::vector<std::size_t> cut_off() const;
  /// Returns the failed results, once missing: one line per prober, equal lines together.
  [[nodiscard]] std::string table(const std::string& master) const;

 private:
  using Result = std::optional<std::string>;  // nothing: none yet; empty: reached
  struct Candidate {
    NodeAddress place;
    std::size_t reached_by = 0;
    bool failed = false;
  };
  [[nodiscard]] std::string row(std::size_t prober) const;

  std::vector<Candidate> candidates_;
  std::vector<std::string> probers_;
  std::vector<std::vector<Result>> results_;  // by prober, then by candidate
  std::size_t open_results_ = 0;
  Clock::time_point began_;
  std::optional<Clock::time_point> first_found_;
  std::string address_;
};

}  // namespace ds::launcher
