// One trial: a small training job with faults in its files, a part of it perhaps killed at a moment
// from outside, and everything it said and did until nothing of it was left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "e2e/checkpoint/file_faults.h"

namespace ds::test {

/// SIGKILL from outside, beside those that a FileFault does from inside.
struct Kill {
  enum class When { never, at_step, at_call } when = When::never;
  int count = 0;  // so many steps printed, or so many file calls noted, have been seen
  std::chrono::microseconds later{0};
  enum class Whom { all, rank, launcher } whom = Whom::all;
  int rank = 0;
};

struct Programs {
  std::string dsrunner, dslaunch, preload;
};

struct TrialSpec {
  bool launched = false;  // by dslaunch; else ranks from plain variables
  int world = 1;
  std::vector<std::string> words{};  // train.toml and keys
  std::filesystem::path folder{};    // for outputs and notes; the working folder
  std::filesystem::path saves{};     // whose files have faults
  std::vector<FileFault> faults{};
  Kill kill{};
};

/// What a rank did to a file, or (`fault`) was done to it.
struct FileNote {
  int rank = 0;
  std::string fault{}, call{}, file{}, path{};
};

struct TrialEnd {
  bool killed = false;               // from outside
  bool hung = false;                 // until it was ended
  std::vector<int> codes{};          // exit codes (128 + signal) of the ranks, or of the launcher
  std::vector<std::string> lines{};  // of rank 0 without prefix, then of the others
  std::vector<FileNote> notes{};
  [[nodiscard]] bool ended_well() const;
};

/// The calling process has no other children.
TrialEnd run_trial(const Programs& programs, const TrialSpec& spec);

}  // namespace ds::test
