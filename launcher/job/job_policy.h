// Options for the course of a job: deadlines, restarts, signals.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace ds::launcher {

/// A signal to send some time before the deadline of the job.
struct PreSignal {
  int signo = 0;
  std::chrono::milliseconds before{};
  friend bool operator==(const PreSignal&, const PreSignal&) = default;
};

/// A limit on how long ranks run on after others have ended well.
struct ExitSkew {
  std::chrono::milliseconds after{60'000};  // since the last rank ended; 0: never
  bool stop = false;                        // end the job then, instead of a warning alone
  friend bool operator==(const ExitSkew&, const ExitSkew&) = default;
};

struct JobPolicy {
  std::chrono::milliseconds grace{10'000};        // between TERM and KILL of a stopping rank
  std::chrono::milliseconds node_timeout{8'000};  // a node silent for longer is lost
  // Without progress of any node: nodes that are not ready are bad.
  std::chrono::milliseconds start_timeout{30'000};
  std::optional<std::chrono::milliseconds> timeout{};  // of the whole job, from its start
  std::optional<PreSignal> pre_signal{};               // needs a timeout
  ExitSkew exit_skew{};
  std::chrono::milliseconds mpi_timeout{600'000};  // of an MPI fence; 0: never
  int max_restarts = 0;
  bool trains = false;                   // ranks are dsrunner: its exit codes are known
  bool find_master = false;              // MASTER_ADDR is to be found before ranks start
  std::vector<int> forwarded_signals{};  // passed on to the ranks
};

}  // namespace ds::launcher
