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
  std::string host;  // name or numeric address
  std::uint16_t port = 0;
};

struct JoinerSetup {
  JoinKey key;
  std::string job;
  std::string place;
  std::string uid;                            // empty: a random one
  std::vector<RootAddress> roots;             // addresses of one root, tried in turn
  std::chrono::milliseconds wait{600'000};    // for the root, at first and after each loss
  std::chrono::milliseconds first_dial{0};    // pause before the first lookup of the root
  std::chrono::milliseconds silence{8'000};   // after which the root is lost, while no agent runs
  std::function<void(std::string_view)> say;  // lines for users
  std::string knocks_at{};                    // own numeric address, to hear knocks; may be empty
  bool only_trouble = false;                  // report problems only
  std::function<void(const JoinOver&)> on_over;  // called before the end; may be empty
};

/// Dials the root, proves the key, sends its hello, and runs one agent at a time. After the loss of
/// the root it stops the ranks and dials again. Returns the exit code: that of the job; 69 after
/// `wait`; that of JoinRefused; 128 + signal after HUP, INT or TERM. A connected root then ends the
/// whole job, or lets this node leave it.
int run_joiner(const JoinerSetup& setup);

}  // namespace ds::launcher
