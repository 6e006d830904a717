// Options for the course of a job: deadlines, restarts, signals.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "launcher/hosts/next_placement.h"

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

/// What follows the loss of a node if no spare fills in. The enumerators have the order of the
/// option's words.
enum class OnLoss {
  smaller,  // the next epoch has fewer nodes, at least the minimum
  wait      // the job waits for the host, or another one, as long as max_wait allows
};
/// When a host that is ready joins. The enumerators have the order of the option's words.
enum class Admit {
  automatic,  // a training is paused for it; other programs: as next
  next,       // at the next restart, or after exit code 94
  now         // the ranks are stopped for it
};

/// A job whose number of nodes may change.
struct ElasticPolicy {
  NodeRange nodes{};
  PlacementRequest placing{};  // of every epoch
  OnLoss on_loss = OnLoss::smaller;
  Admit admit = Admit::automatic;
  std::chrono::milliseconds max_wait{600'000};  // for hosts below the minimum, or for on_loss wait
  /// The first epoch begins after this time with the hosts that are ready, if they are enough;
  /// empty: it waits for every host until that is ready or bad.
  std::optional<std::chrono::milliseconds> begin_within{};
  /// Hosts for which the first epoch waits: others of the list do not exist yet. Empty: all.
  std::optional<int> known{};
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
  std::optional<ElasticPolicy> elastic{};
  /// Returns whether agents stay for another epoch.
  [[nodiscard]] bool keeps_agents() const { return max_restarts > 0 || elastic; }
};

}  // namespace ds::launcher
