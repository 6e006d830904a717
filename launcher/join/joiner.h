// The node's side of a join: dials the root until it answers, and runs agents for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/join/join_key.h"
#include "launcher/join/join_records.h"

namespace ds::launcher {

struct RootAddress {
  std::string host;  // a name or a numeric address
  std::uint16_t port = 0;
};

struct JoinerSetup {
  JoinKey key;
  std::string job;
  std::string place;
  std::string uid;                           // empty: one of its own
  std::vector<RootAddress> roots;            // ways to one root, tried in turn
  std::chrono::milliseconds wait{600'000};   // until the root answers, at first and after each loss
  std::chrono::milliseconds silence{8'000};  // of the root, while no agent runs: it is lost
  std::function<void(std::string_view)> say;     // lines for people
  bool only_trouble = false;                     // say nothing while all is as it should be
  std::function<void(const JoinOver&)> on_over;  // before the end; may be empty
};

/// Dials, proves the key, says who it is, runs one agent at a time, and dials again when the root
/// is lost, whose ranks are stopped first. Returns the exit code: the verdict's; 69 when `wait` is
/// over; that of JoinRefused; 128 + signal after HUP, INT or TERM, which a root that is there turns
/// into the end of the whole job.
int run_joiner(const JoinerSetup& setup);

}  // namespace ds::launcher
