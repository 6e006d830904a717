// A rank's place from the step in which `srun` started it. Pure; shared with the launcher, so that
// both find the same.
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
  std::string master_addr;     // the name of the step's first node
  int master_port = 0;         // made of the numbers of job and step, below the ephemeral ports
  std::string job;             // "17.0": job and step
  std::uint32_t restarts = 0;  // how often the job was requeued
};

/// The first epoch of a job that was requeued so often: above all of its earlier runs.
inline constexpr std::uint64_t kEpochsPerRun = 1'000'000;
constexpr std::uint64_t slurm_epoch(std::uint32_t restarts) { return restarts * kEpochsPerRun; }

/// The value of an environment variable, or null.
using SlurmLookup = std::function<const char*(const char* name)>;

/// The place of this task in its step. Nothing outside of `srun`: in the script of `sbatch` (it has
/// SLURM_PROCID, but no step), in the interactive step of `salloc`, and in a step of one task,
/// which is a shell or a launcher as often as a rank. Errors:  Error{config} naming the variable
/// that is missing, malformed or in contradiction to
///          another one.
std::optional<SlurmRank> find_slurm_rank(const SlurmLookup& lookup);

}  // namespace ds
