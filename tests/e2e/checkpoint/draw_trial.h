// Draws random trials: the shape of the job, file faults, and who is killed when.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "e2e/checkpoint/trial.h"

namespace ds::test {

/// Settings that decide bits, shared by a chain of trials. Everything else is drawn per trial.
struct Arithmetic {
  std::string name{};
  std::vector<std::string> keys{};
};
const std::vector<Arithmetic>& arithmetics();

inline constexpr int kSteps = 24;

/// Writes the text and the train.toml of all trials into `folder`.
void write_job(const std::filesystem::path& folder);

struct DrawnTrial {
  TrialSpec spec{};
  std::string shape{};  // for the table
  bool async = true;
  std::int64_t every = 1, keep = 0, major_every = 0;
};

/// Draws a trial. `folder` has the train.toml; checkpoints are in folder/saves. `trouble` is the
/// step from which the trial resumes; without it nobody is killed and nothing fails.
DrawnTrial draw_trial(const std::filesystem::path& folder, const Arithmetic& arithmetic,
                      std::optional<std::int64_t> trouble, std::mt19937_64& random);

}  // namespace ds::test
