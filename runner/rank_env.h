// A rank's place in its job, from the environment that dslaunch, torchrun, or a person sets. Pure:
// the lookup comes in.
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
      1;  // ranks on this node; what is known of it when the variable is not set: local_rank + 1
  std::string master_addr;  // empty for a world of one
  int master_port = 0;
  std::string job_id;
  std::string job_key;  // empty: none
  std::uint64_t epoch = 0;
  bool live_progress = false;
  std::optional<double> grace_s{};  // from TERM to KILL; none: nobody has told
  std::optional<WireSpeed> test_wire{};

  /// How this rank finds the others.
  [[nodiscard]] Rendezvous rendezvous(Clock::duration timeout) const;
};

/// The value of an environment variable, or null.
using Lookup = std::function<const char*(const char* name)>;

/// Nothing set: a job of one rank. Set: RANK, WORLD_SIZE and LOCAL_RANK, and for more than one rank
/// MASTER_ADDR and MASTER_PORT; the rest is optional. Without a rank in these, a task of `srun`
/// takes its place from the step. Errors: Error{config} naming the variable that is missing,
/// malformed or in contradiction to another one. The job key is never printed.
RankEnv parse_rank_env(const Lookup& lookup);

}  // namespace ds
