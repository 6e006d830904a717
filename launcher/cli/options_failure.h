// Options of failures: deadlines, signals, restarts, spares and the verdict.
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

/// Value of --isolate. The enumerators have the order of the option's words.
enum class IsolateMode { automatic, pid, none };

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
  IsolateMode isolate = IsolateMode::automatic;
};

std::span<const OptionDef<FailureOptions>> failure_options();

/// Grace of a training, which saves a checkpoint before it ends: most of Kubernetes' 30 s.
inline constexpr std::chrono::seconds kTrainingGrace{25};
void default_grace(FailureOptions& options, bool trains);

/// Sets the deadline of --pre-signal without --timeout: the end of the allocation that this process
/// is in (`time_left` from now), less --grace.
void take_time_left(FailureOptions& options, std::optional<std::chrono::milliseconds> time_left);

/// Errors:  Error{usage} for options that cannot be combined.
void check_failure_options(const FailureOptions& options);

}  // namespace ds::launcher
