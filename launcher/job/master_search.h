// MASTER_ADDR: the addresses of node 0 in their order, and the choice by what the others reach.
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

/// All see the same interfaces: any address of the first is reached by all, loopback too.
bool share_network(const std::vector<NodeView>& nodes);
/// Which nodes have to try: one of each network that is not the one of node 0.
std::vector<int> probing_nodes(const std::vector<NodeView>& nodes);
/// Addresses of node 0, the best first: the one in `reached`, by which the launcher came; those in
/// a subnet of many other nodes; IPv4; link-local last. Loopback only if all share the network.
std::vector<NodeAddress> master_candidates(const std::vector<NodeView>& nodes,
                                           const std::string& reached,
                                           const std::optional<InterfaceWish>& wish);
/// The name of a node's interface that is meant; empty: it has none.
std::string interface_of(const InterfaceWish& wish, const std::vector<NodeAddress>& addresses);
/// Why a node cannot take part; empty: it can.
std::string interface_problem(const std::string& host, const InterfaceWish& wish,
                              const std::vector<NodeAddress>& addresses);

/// Results come in, the choice comes out.
/// Promise: the best candidate that all probers reach wins at once; a worse one waits kForBetter
/// for
///          those before it. It ends after kPatience at the latest: probers say their last word
///          before.
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
  /// Once found.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Which probers still try an address.
  [[nodiscard]] std::vector<std::size_t> unfinished() const;
  /// Who did not reach what, once missing: one line a prober, equal ones together.
  [[nodiscard]] std::string table(const std::string& master) const;

 private:
  struct Candidate {
    NodeAddress place;
    std::size_t reached_by = 0;
    bool failed = false;
  };
  [[nodiscard]] std::string row(std::size_t prober) const;

  std::vector<Candidate> candidates_;
  std::vector<std::string> probers_;
  /// By prober, then by candidate; nothing: not heard of yet.
  std::vector<std::vector<std::optional<std::string>>> results_;
  std::size_t open_results_ = 0;
  Clock::time_point began_;
  std::optional<Clock::time_point> first_found_;
  std::string address_;
};

}  // namespace ds::launcher
