// Waiting for joining nodes: waits until all nodes have dialed in; prints lines, obeys a deadline.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

struct GatherRequest {
  std::vector<std::string> places;  // places that must dial in
  std::chrono::milliseconds wait{600'000};
  std::size_t here = 0;  // nodes of the job that need not dial in: the root's own
  // Of jobs whose number of nodes may change: so many places suffice after `wait`, or once DNS has
  // no record of any missing place for some seconds; and the wait ends once `most` are there.
  std::optional<std::size_t> least{}, most{};
  /// Returns how many nodes are there beside those of `places`. Set for an open job, which begins
  /// `last_call` after `least` nodes are there, so that others may still come.
  std::function<std::size_t()> guests{};
  std::chrono::milliseconds last_call{0};
  /// Returns whether a missing place will not be filled, so that `least` places suffice. May be
  /// empty.
  std::function<bool(const std::string& place)> is_out{};
  /// Returns the DNS name of a place. If set, missing places are looked up, for their states, and
  /// knocked at on `port` (knock.h). May be empty.
  std::function<std::string(const std::string& place)> dial_of;
  std::uint16_t port = 0;
  std::function<std::string(const std::string& place)>
      stage_of;                                          // state of a missing place; or null
  std::function<std::optional<std::string>()> given_up;  // reason to give up; may be null
  std::function<std::optional<int>()> signal;            // HUP, INT or TERM that has come
  std::function<void(const std::string&)> say;
};

struct Gathered {
  std::optional<int> code;  // if set, the job must not start; exit with this code
  std::string reason;       // reason for `code`
};

/// Runs `io` until all places have joined. From 10 s on, a line every 10 s names the missing
/// places; the waiting nodes get it too. A signal ends the wait with 128 + signal.
Gathered gather(asio::io_context& io, JoinServer& server, const GatherRequest& request);

/// Time for further nodes, once enough are there. It begins again whenever there were too few.
/// Pure.
class LastCall {
 public:
  explicit LastCall(std::chrono::milliseconds length) : length_(length) {}
  /// Returns whether enough nodes have been there for that time.
  bool is_over(bool enough, Clock::time_point now) {
    if (!enough) since_.reset();
    if (enough && !since_) since_ = now;
    return since_ && now - *since_ >= length_;
  }

 private:
  std::chrono::milliseconds length_;
  std::optional<Clock::time_point> since_;
};

/// Returns the line "3 of 4 nodes are here after 20 s; missing: gpt-2.gpt: no DNS record". `all`
/// counts all places, also those that are here. Pure.
std::string waiting_line(std::size_t all, const std::vector<std::string>& missing,
                         std::chrono::seconds since,
                         const std::function<std::string(const std::string&)>& stage_of);

}  // namespace ds::launcher
