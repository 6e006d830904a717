// The checkpoints in a folder, each read as a whole, and what harms them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace ds::test {

struct SavedStep {
  std::int64_t step = 0;
  std::string name{};     // of its folder
  std::string problem{};  // why it cannot be taken; empty: every piece verifies
  std::string content{};  // all its values and the state of training, as a hash
  std::int64_t pieces = 0;
  [[nodiscard]] bool good() const { return problem.empty(); }
};

/// Everything that is complete by its name, newest first.
std::vector<SavedStep> saved_steps(const std::filesystem::path& dir);

/// Names in the folder that are no complete checkpoint, sorted.
std::vector<std::string> other_names(const std::filesystem::path& dir);

/// Flips a bit of, cuts, empties, zeroes a part of, or removes a file of a checkpoint. Says what.
std::string harm(const std::filesystem::path& checkpoint, std::mt19937_64& random);

}  // namespace ds::test
