// Guests: nodes that dial in to an open job without being named by it. Counts them while the job
// gathers its nodes, and adds them to the job once it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

/// Threads: the io_context's of the server.
class Guests {
 public:
  /// `named`: places of the job, which are not those of guests. `slots_of` returns the slots of a
  /// guest.
  Guests(JoinServer& server, std::set<std::string> named,
         std::function<int(const JoinedNode&)> slots_of)
      : server_(server), named_(std::move(named)), slots_of_(std::move(slots_of)) {}

  [[nodiscard]] bool is_guest(const std::string& place) const { return !named_.contains(place); }

  /// To be called when a node has filled a place.
  void joined(const JoinedNode& node) {
    const std::string place = node.hello.place;
    if (!is_guest(place)) return;
    const auto [known, is_new] = places_.try_emplace(place, node.hello.started);
    const bool dialed_again = !is_new && known->second == node.hello.started;
    known->second = node.hello.started;
    // A node that was removed stays removed, however often its connection breaks.
    if (add_ && !dialed_again) add(place);
  }

  /// Returns the guests that are there, in the order of their names.
  [[nodiscard]] std::vector<Host> hosts() const {
    std::vector<Host> hosts;
    for (const auto& [place, started] : places_)
      if (const JoinedNode* node = server_.node(place)) hosts.push_back(host_of(*node));
    return hosts;
  }

  /// Adds all guests to the job, which runs on some of them already; later ones when they join.
  /// `add_to_job` returns why a host is refused. Null: the job has ended.
  void admit(std::function<std::string(const Host&)> add_to_job) {
    add_ = std::move(add_to_job);
    if (!add_) return;
    for (const auto& [place, started] : places_)
      if (server_.node(place) != nullptr) add(place);
  }

 private:
  [[nodiscard]] Host host_of(const JoinedNode& node) const {
    Host host;
    host.name = node.hello.place;
    host.slots = slots_of_(node);
    return host;
  }

  void add(const std::string& place) {
    const std::string problem = add_(host_of(*server_.node(place)));
    if (!problem.empty()) server_.refuse(place, problem);
  }

  JoinServer& server_;
  std::set<std::string> named_;
  std::function<int(const JoinedNode&)> slots_of_;
  // Places that guests have filled, at any time, and when the last guest of each had started.
  std::map<std::string, std::uint64_t> places_;
  std::function<std::string(const Host&)> add_;  // set while the job runs
};

}  // namespace ds::launcher
