// A job whose nodes dial in: waits for them, places the ranks, runs the job, tells all nodes the
// end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/job/job.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

struct JoinedJobSetup {
  JoinKey key;
  std::string job;                       // its identity, equal in all nodes
  std::vector<Host> places;              // in the order of node ranks; slots may be kAutoSlots
  std::optional<std::string> own_place;  // this process fills it, without dialling
  std::uint16_t port = 0;                // to listen on; 0: any free one
  std::string bind_address;              // numeric; empty: all addresses
  std::chrono::milliseconds wait{600'000};
  std::uint64_t first_epoch = 0;  // a higher one, if a node has seen one
  int cpu_slots = 1;              // of a place with kAutoSlots that has no GPU

  /// The root listens: now others may be started that dial it. May be empty.
  std::function<void(JoinServer&, asio::io_context&)> on_listening;
  /// Why a place is still empty, for the lines of waiting: "no DNS record". May be empty.
  std::function<std::string(const std::string& place)> stage_of;
  /// The name of a place in DNS, which then says how far it is in the lines of waiting, in place of
  /// stage_of. May be empty.
  std::function<std::string(const std::string& place)> dial_of;
  /// Asked once a second while nodes are missing: a reason to give up at once. May be empty.
  std::function<std::optional<std::string>()> given_up;
  /// The verdict (JSON of --verdict; if no job began, why, in words) and the exit code -> what
  /// every node gets as JoinOver::report.
  std::function<std::string(const std::string& verdict, int code)> report;
  /// A node's wish to end becomes the job's so much later: where the same signal is on its way to
  /// all ranks, ours comes behind it.
  std::chrono::milliseconds decide_after{0};
  /// Asked after the nodes have heard the end: whether others of its parts are still ending, which
  /// is waited for, 2 s at most. May be empty.
  std::function<bool()> still_ending;
  /// The last call: what lives on the io_context must go. May be empty.
  std::function<void()> on_end;
  /// The same for this process, before it ends. May be empty.
  std::function<void(const std::string& report)> on_report;
};

/// Returns dslaunch's exit code: 69 when a node is missing at the end of `wait`, with a line for
/// each. A signal to any node (JoinLeaving) counts as one to this process, one that several
/// nodes get as one.
/// Errors:  as start_job; Error{config} for hosts with too few slots; Error{system}: the port.
int run_joined_job(const Options& options, const JoinedJobSetup& setup,
                   std::vector<Program> programs, JobEnvironment environment);

}  // namespace ds::launcher
