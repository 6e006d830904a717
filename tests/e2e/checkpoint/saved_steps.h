// Reads all checkpoints of a folder whole, and damages them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace ds::test {

struct SavedStep {
  std::int64_t step = 0;
  std::string name{};     // name of the folder
  std::string problem{};  // why it cannot be used; empty: every piece verifies
  std::string content{};  // hash of all values and the training state
  std::int64_t pieces = 0;
  [[nodiscard]] bool good() const { return problem.empty(); }
};

/// Returns all checkpoints that are complete by name, newest first.
std::vector<SavedStep> saved_steps(const std::filesystem::path& dir);

/// Returns the names in the folder that are not complete checkpoints, sorted.
std::vector<std::string> other_names(const std::filesystem::path& dir);

/// Flips a bit of, cuts, empties, zeroes a part of, or removes a file of a checkpoint. Returns what
/// it did.
std::string harm(const std::filesystem::path& checkpoint, std::mt19937_64& random);

}  // namespace ds::test
