// A whole training job, as one rank runs it: a list of phases.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/comm/rendezvous.h"

namespace ds {

struct JobRequest {
  std::string config_path;
  std::vector<std::string> overrides;
  Rendezvous rendezvous;
  int local_rank = 0;                             // picks the device
  int local_ranks = 1;                            // on this node, which share its memory
  Clock::time_point started;                      // when the process began
  const std::atomic<int>* stop_signal = nullptr;  // not 0: a signal asked this rank to stop
  const std::atomic<int>* save_requests =
      nullptr;                      // counts the signals that asked for a checkpoint
  std::optional<double> grace_s{};  // from a signal to stop to the end by force; none: not known
  std::atomic<bool>* steps_begun = nullptr;  // set before the first step; may be null
  bool* joined = nullptr;  // set once this rank goes to meet the others: errors are its own then
};

/// Trains; returns whether all steps were run (false: a rank was asked to stop, and the group
/// stopped together). Errors: Error{usage, config, comm, system}.
bool run_training(const JobRequest& request);

/// Everything that can be checked without training: config, data, programs, memory. Errors: as
/// run_training.
void check_training(const JobRequest& request);

/// What the configuration itself says, its limits of memory counted, without the data and the
/// memory of this machine. Errors: Error{usage, config}.
void check_configuration(const JobRequest& request);

}  // namespace ds
