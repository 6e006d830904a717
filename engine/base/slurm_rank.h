// Place of a rank in an srun step. Pure; launcher and runner share it so that both find the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ds {

struct SlurmRank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int node_rank = 0;
  int nodes = 1;
  std::string master_addr;     // name of the step's first node
  int master_port = 0;         // derived from job and step number, below the ephemeral ports
  std::string job;             // job and step: "17.0"
  std::uint32_t restarts = 0;  // number of requeues
};

/// Returns the first epoch of a job after `restarts` requeues, above all epochs of its earlier
/// runs.
inline constexpr std::uint64_t kEpochsPerRun = 1'000'000;
constexpr std::uint64_t slurm_epoch(std::uint32_t restarts) { return restarts * kEpochsPerRun; }

/// Returns the value of an environment variable, or null.
using SlurmLookup = std::function<const char*(const char* name)>;

/// Returns the place of this task in its step. Returns nothing outside `srun`: in the script of
/// `sbatch` (it has SLURM_PROCID but no step), in the interactive step of `salloc`, and in a step
/// with one task, which often is a shell or a launcher. Errors:  Error{config} naming a variable
/// that is missing, malformed or contradicts another one.
std::optional<SlurmRank> find_slurm_rank(const SlurmLookup& lookup);

}  // namespace ds
