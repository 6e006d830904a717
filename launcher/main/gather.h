// Waits until the nodes of a job have dialled in: lines for people, a deadline, signals.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

struct GatherWish {
  std::vector<std::string> places;  // that must dial in
  std::chrono::milliseconds wait{600'000};
  std::size_t here = 0;  // nodes of the job that need not dial: the root's own
  /// A few seconds before a line: now find out about these. May be empty.
  std::function<void(const std::vector<std::string>& places)> look;
  std::function<std::string(const std::string& place)> stage_of;  // of an empty place; may be empty
  std::function<std::optional<std::string>()> given_up;           // a reason; may be empty
  std::function<void(const std::string&)> say;
};

struct Gathered {
  std::optional<int> code;  // set: the job must not start, end with this
  std::string reason;       // then: why
};

/// Runs `io`. A line after 10 s and every 10 s names the empty places; the nodes that wait see it
/// too. HUP, INT and TERM end it with 128 + signal.
Gathered gather(asio::io_context& io, JoinServer& server, const GatherWish& wish);

/// The line: "3 of 4 nodes are here after 20 s; missing: gpt-2.gpt: no DNS record". Of places,
/// `all` counts those that are here too. Pure.
std::string waiting_line(std::size_t all, const std::vector<std::string>& missing,
                         std::chrono::seconds since,
                         const std::function<std::string(const std::string&)>& stage_of);

}  // namespace ds::launcher
