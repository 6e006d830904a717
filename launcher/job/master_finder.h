// Has agents try the addresses of node 0, and says which one is MASTER_ADDR.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/life.h"
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
  /// What is to be found out.
  struct Question {
    std::vector<NodeView> nodes;
    std::vector<int> agents;  // by node
    std::vector<NodeAddress> candidates;
    std::uint16_t port = 0;
  };

  MasterFinder(asio::io_context& io, Events events) : timer_(io), events_(std::move(events)) {}

  /// Node 0 shall answer there; new secrets each time.
  void open_door(Spec& spec);
  /// Before on_found node 0's agent has shut its door, else a rank that starts early elsewhere
  /// would take it for rank 0; and no agent dials any more, else rank 0 would take it for a rank.
  /// Ends with one of the two events, perhaps before it returns; an earlier search is forgotten.
  void begin(const Question& question);
  /// There is nothing to try: on_found follows, without an address.
  void skip(int first_agent);
  /// Nothing has changed since: on_found follows, with the address found last.
  void again(int first_agent);
  void take(int agent, const Probed& reached);
  /// The address found last; empty: none yet.
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
  std::vector<int> ending_;   // agents that have not said yet that they are through
  std::optional<MasterSearch> search_;
  std::string address_;
};

}  // namespace ds::launcher
