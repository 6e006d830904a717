// Options: how a job ends, and whether it begins again.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/job/job_policy.h"

namespace ds::launcher {

/// In the order in which --isolate names them.
enum class IsolateWish { automatic, pid, none };

struct FailureOptions {
  std::chrono::milliseconds grace{10'000};
  bool grace_given = false;
  std::chrono::milliseconds node_timeout{8'000};
  std::optional<std::chrono::milliseconds> timeout{};
  std::optional<PreSignal> pre_signal{};
  std::vector<int> forward_signals{SIGUSR1, SIGUSR2};
  ExitSkew exit_skew{};
  int max_restarts = 0;
  int spares = 0;
  std::optional<std::string> verdict{};
  IsolateWish isolate = IsolateWish::automatic;
};

std::span<const OptionDef<FailureOptions>> failure_options();

/// A training saves a checkpoint before it ends: it gets what pods leave of Kubernetes' 30 s.
inline constexpr std::chrono::seconds kTrainingGrace{25};
void default_grace(FailureOptions& options, bool trains);

/// --pre-signal without --timeout: the deadline is the end of the allocation that this process is
/// in, less --grace, where `time_left` tells it.
void take_time_left(FailureOptions& options, std::optional<std::chrono::milliseconds> time_left);

/// Errors:  Error{usage} for options that do not go together.
void check_failure_options(const FailureOptions& options);

}  // namespace ds::launcher
