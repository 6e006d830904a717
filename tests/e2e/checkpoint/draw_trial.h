// Random trials: the shape of the job, what goes wrong with its files, who is killed and when.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "e2e/checkpoint/trial.h"

namespace ds::test {

/// Settings that decide bits: chains of trials share them. All else is free.
struct Arithmetic {
  std::string name{};
  std::vector<std::string> keys{};
};
const std::vector<Arithmetic>& arithmetics();

inline constexpr int kSteps = 24;

/// Writes the text and the train.toml that all trials share into `folder`.
void write_job(const std::filesystem::path& folder);

struct DrawnTrial {
  TrialSpec spec{};
  std::string shape{};  // for people
  bool async = true;
  std::int64_t every = 1, keep = 0, major_every = 0;
};

/// `folder`: with the train.toml; the checkpoints lie in folder/saves. `trouble`: the step that the
/// trial goes on from; nothing: nobody is killed, and nothing fails.
DrawnTrial draw_trial(const std::filesystem::path& folder, const Arithmetic& arithmetic,
                      std::optional<std::int64_t> trouble, std::mt19937_64& random);

}  // namespace ds::test
