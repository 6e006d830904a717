// Job whose nodes dial in: waits for the nodes, places the ranks, runs the job, reports the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/commands/start/job_request.h"
#include "launcher/join/join_server.h"

namespace ds::launcher {

/// A job that nodes may join without being named by it: guests. Needs --nodes MIN:MAX.
struct OpenJob {
  int slots = kAutoSlots;                  // of each guest; kAutoSlots: one per GPU, or 1
  std::chrono::milliseconds last_call{0};  // for more guests, once MIN nodes are there
};

struct JoinedJobSetup {
  JoinKey key;
  std::string job;           // identity of the job, equal on all nodes
  std::vector<Host> places;  // in the order of node ranks; kAutoSlots: one per GPU, or 1
  std::optional<std::string> own_place;  // place that this process fills without dialing
  std::optional<OpenJob> open;           // empty: only `places` may join
  std::uint16_t port = 0;                // port to listen on; 0: any free port
  std::string bind_address;              // numeric; empty: all addresses
  std::chrono::milliseconds wait{600'000};
  std::uint64_t first_epoch = 0;  // lowest epoch; higher if a node has seen a higher one

  /// Called when the root listens: processes that dial it can now be started. May be empty.
  std::function<void(JoinServer&, asio::io_context&)> on_listening;
  /// Returns why a place is missing, for the lines of waiting: "no DNS record". May be empty.
  std::function<std::string(const std::string& place)> stage_of;
  /// Returns the DNS name of a place. If set, DNS lookups replace stage_of in the lines of waiting.
  /// May be empty.
  std::function<std::string(const std::string& place)> dial_of;
  /// Returns whether a place will not be filled, because what should start its node has failed. A
  /// job that needs fewer nodes begins without it. May be empty.
  std::function<bool(const std::string& place)> is_out;
  /// Called when the nodes are there, before the ranks begin. May be empty.
  std::function<void()> on_gathered;
  /// Called once a second while nodes are missing; returns a reason to give up at once. May be
  /// empty.
  std::function<std::optional<std::string>()> given_up;
  /// Called once at the end. Returns the text that every node gets as JoinOver::report. `verdict`:
  /// JSON of --verdict, or the reason in words if no job began. May be empty.
  std::function<std::string(const std::string& verdict, int code)> report;
  /// Delay between a node's request to stop and the job's signal. It lets a signal that is already
  /// on its way to all ranks arrive first. If set, a request of one of `places` always stops the
  /// job: they get it together.
  std::chrono::milliseconds decide_after{0};
  /// Called after the nodes were told the end; returns whether other parts are still ending. The
  /// job waits for them for at most 2 s. May be empty.
  std::function<bool()> still_ending;
  /// Called last: must destroy what lives on the io_context. May be empty.
  std::function<void()> on_end;
};

/// Returns the key from the options, the environment or a mounted file (find_join_key), and removes
/// the token from this process's environment.   Errors:  Error{config}.
JoinKey key_of_job(const PodOptions& pods);

/// Runs the job and returns dslaunch's exit code: 69 if a node is missing after `wait`, with a line
/// for each. A signal to any node (JoinLeaving) counts as a signal to this process; signals to
/// several nodes count as one.
/// Errors:  as run_job; Error{config} for hosts with too few slots; Error{system} for the port.
int run_joined_job(const Options& options, const JoinedJobSetup& setup, JobParts parts);

}  // namespace ds::launcher
