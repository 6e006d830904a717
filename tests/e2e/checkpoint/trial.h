// One trial: a small training job with file faults, possibly with a kill from outside, and
// everything it printed and did until no process was left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "e2e/checkpoint/file_faults.h"

namespace ds::test {

/// A SIGKILL from outside, besides those that a FileFault sends from inside.
struct Kill {
  enum class When { never, at_step, at_call } when = When::never;
  int count = 0;  // number of printed steps or noted file calls to wait for
  std::chrono::microseconds later{0};
  enum class Whom { all, rank, launcher } whom = Whom::all;
  int rank = 0;
};

struct Programs {
  std::string dsrunner, dslaunch, preload;
};

struct TrialSpec {
  bool launched = false;  // by dslaunch; else ranks are started with plain variables
  int world = 1;
  std::vector<std::string> words{};  // train.toml and keys
  std::filesystem::path folder{};    // working folder, for outputs and notes
  std::filesystem::path saves{};     // folder whose files have faults
  std::vector<FileFault> faults{};
  Kill kill{};
};

/// A file call of a rank, or (`fault`) a fault that it met.
struct FileNote {
  int rank = 0;
  std::string fault{}, call{}, file{}, path{};
};

struct TrialEnd {
  bool killed = false;               // by the kill from outside
  bool hung = false;                 // had to be ended by the campaign
  std::vector<int> codes{};          // exit codes (128 + signal) of the ranks or of the launcher
  std::vector<std::string> lines{};  // output of rank 0 without prefix, then of the other ranks
  std::vector<FileNote> notes{};
  [[nodiscard]] bool ended_well() const;
};

/// Runs a trial. The calling process must have no other children.
TrialEnd run_trial(const Programs& programs, const TrialSpec& spec);

}  // namespace ds::test
