// RankEnv: a rank's place in its job, from the environment set by dslaunch, torchrun or the user.
// Pure: the caller passes the lookup function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/comm/rendezvous.h"

namespace ds {

struct RankEnv {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size =
      1;  // ranks on this node; at least local_rank + 1 if the variable is not set
  std::string master_addr;  // empty for a world of one
  int master_port = 0;
  std::string job_id;
  std::string job_key;  // empty: no key
  std::uint64_t epoch = 0;
  std::string node{};  // NODE_RANK or GROUP_RANK; empty: neither is set
  /// That the job may get; 0: its number of ranks stays.
  std::int64_t least_ranks = 0, most_ranks = 0;
  std::optional<double> grace_s{};  // time from TERM to KILL; none: unknown
  std::optional<WireSpeed> test_wire{};

  /// Returns how this rank finds the others.
  [[nodiscard]] Rendezvous rendezvous(Clock::duration timeout) const;
};

/// Returns the value of an environment variable, or null.
using Lookup = std::function<const char*(const char* name)>;

/// Parses the environment. Nothing set: a job of one rank. Otherwise RANK, WORLD_SIZE and
/// LOCAL_RANK are required, and for more than one rank MASTER_ADDR and MASTER_PORT; the rest is
/// optional. If no rank is set, a task of `srun` takes its place from the step. Errors:
/// Error{config} with the variable that is missing, malformed or contradicts another one. The job
/// key is never printed.
RankEnv parse_rank_env(const Lookup& lookup);

}  // namespace ds
