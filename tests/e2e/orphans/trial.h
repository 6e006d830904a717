// One trial: starts a job of stubborn ranks, hits some of its processes, and returns what is left.
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "e2e/orphans/process_table.h"

namespace ds::test {

/// What to run.
struct TrialSetup {
  std::string launcher;   // dslaunch
  std::string rank;       // stubborn_rank
  bool isolated = false;  // --isolate pid: any set may be hit
};

struct TrialResult {
  std::string ways;                          // of the ranks
  std::string hits;                          // "kill agent, stop shim1"
  std::string error;                         // the trial itself went wrong; empty: it did not
  std::vector<Process> left;                 // after the limit
  std::chrono::milliseconds clean_after{0};  // how long it took until nothing was left
  [[nodiscard]] bool good() const { return error.empty() && left.empty(); }
};

/// The promise: so long after the hits nothing is left.
inline constexpr std::chrono::seconds kLimit{5};

/// A job with --isolate pid works here.
bool can_isolate(const TrialSetup& setup);

/// Starts a job, waits until all ranks have spread, and sends SIGKILL or SIGSTOP to a random set of
/// its processes that spares one of guard, agent and shim on the path to each rank, or any set if
/// the ranks are isolated. At least one of the hits is one that ends a job: on a link, or KILL to
/// the launcher. Whatever is left in the end is killed.
TrialResult run_trial(const TrialSetup& setup, std::mt19937_64& random);

}  // namespace ds::test
