// Runs a training job on one rank, from config to the last step, or only checks it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/rank_channel.h"
#include "engine/comm/rendezvous.h"

namespace ds {

struct JobRequest {
  std::string config_path;
  std::vector<std::string> overrides;
  Rendezvous rendezvous;
  int local_rank = 0;                             // picks the device
  int local_ranks = 1;                            // ranks on this node, which share its memory
  Clock::time_point started;                      // when the process began
  const std::atomic<int>* stop_signal = nullptr;  // not 0: this rank received a signal to stop
  const std::atomic<int>* save_requests =
      nullptr;                      // number of signals received that request a checkpoint
  std::optional<double> grace_s{};  // time from the stop signal to KILL; none: unknown
  // Set before the first step, and before this rank leaves with an error of its own: a stop signal
  // must not end the process at once any more. It may be null.
  std::atomic<bool>* ends_itself = nullptr;
  RankChannel* channel = nullptr;  // to the agent of this node; null: there is none
  std::string node{};              // the same for ranks of one node, on no other node
  /// That the job may get; 0: its number of ranks stays.
  std::int64_t least_ranks = 0, most_ranks = 0;
  bool* joined = nullptr;  // set when this rank starts to connect to the others; may be null
};

/// How a training ended, the same on all ranks. stopped: a rank received a signal to stop. paused:
/// the launcher begins the job anew, and the states are kept or saved.
enum class TrainEnd : std::uint8_t { complete, stopped, paused };

/// Trains. Errors: Error{usage, config, comm, system}.
TrainEnd run_training(const JobRequest& request);

/// Checks everything that can be checked without training: config, data, programs, memory, also at
/// the fewest ranks that the job may get. Errors: as run_training().
void check_training(const JobRequest& request);

/// Checks whether a rank of this job could run on this machine, without its checkpoints: config, data,
/// memory. Returns own_facts(), which those of the job must equal. Errors: as run_training().
std::string check_joining(const JobRequest& request);

/// Checks the config and its memory limits, without the data and without the memory of this
/// machine. Errors: Error{usage, config}.
void check_configuration(const JobRequest& request);

}  // namespace ds
