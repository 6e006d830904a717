// Makes agents try the addresses of node 0, and chooses MASTER_ADDR among them.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/fleet/life.h"
#include "launcher/job/master_search.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Threads: the io_context's.
class MasterFinder {
 public:
  struct Events {
    std::function<void(int agent, const Probe&)> send;
    std::function<void()> on_found;
    std::function<void(std::string text)> on_missing;  // what went wrong, for people
  };
  /// Input of one search.
  struct Question {
    std::vector<NodeView> nodes;
    std::vector<int> agents;  // by node
    std::vector<NodeAddress> candidates;
    std::uint16_t port = 0;
  };

  MasterFinder(asio::io_context& io, Events events) : timer_(io), events_(std::move(events)) {}

  /// Adds new secrets to the Spec of node 0, which answers probes with them.
  void open_door(Spec& spec);
  /// Starts a search; drops an earlier one. Ends with on_found or on_missing, perhaps before it
  /// returns. Before on_found, node 0's agent has closed its listening socket, which an early rank
  /// could take for rank 0, and no agent dials any more, which rank 0 could take for a rank.
  void begin(const Question& question);
  /// Skips the search: on_found follows, without an address.
  void skip(int first_agent);
  /// Uses the address found last: on_found follows.
  void again(int first_agent);
  void take(int agent, const Probed& reached);
  /// Returns the address found last; empty: none yet.
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  void look();
  void end_tries(const std::vector<int>& agents);

  asio::steady_timer timer_;
  Life life_;
  Events events_;
  std::string question_, answer_;
  std::uint32_t number_ = 0;
  std::string master_;        // the name of node 0
  int first_agent_ = -1;      // of node 0
  std::vector<int> probers_;  // agents
  std::vector<int> ending_;   // agents that have not reported yet that they have ended
  std::optional<MasterSearch> search_;
  std::string address_;
};

}  // namespace ds::launcher
