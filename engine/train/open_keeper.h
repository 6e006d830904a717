// Decides whether a job keeps states, and opens its keeper.
#pragma once

#include <memory>

#include "engine/train/job.h"
#include "engine/train/keeper.h"
#include "engine/train/reporter.h"

namespace ds {

/// Where a job runs, as far as kept states depend on it.
struct KeepPlace {
  bool has_agent = false;   // that holds memory
  bool is_elastic = false;  // the number of ranks may change
  bool has_nodes = false;   // more than one
};

/// Sets what the launch decides: states are kept if an agent can hold them, and the config says how
/// often or the job is elastic. Pure.
void settle_keeping(ElasticConfig& config, const KeepPlace& place);

/// Returns the place of this rank. `is_check`: nothing runs, and the agent is not asked.
KeepPlace keep_place(const JobRequest& request, bool is_check);

/// Returns the keeper, or null if nothing is kept. `reporter` is null except on rank 0. Collective.
/// Errors: Error{comm}.
std::unique_ptr<Keeper> open_keeper(const TrainConfig& config, const JobRequest& request,
                                    Trainer& trainer, Group& world, Collectives& collectives,
                                    SaveFacts head, Reporter* reporter);

}  // namespace ds
