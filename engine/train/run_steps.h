// The steps of a training job, one after the other, and what goes on around each.
#pragma once

#include <vector>

#include "engine/train/checkpointer.h"
#include "engine/train/job.h"
#include "engine/train/open_ledger.h"
#include "engine/train/reporter.h"

namespace ds {

/// Who takes part in the steps; null: not on this rank, or not asked for.
struct StepParts {
  Trainer& trainer;
  Reporter* reporter = nullptr;
  SampleLedger* ledger = nullptr;
  Checkpointer* saver = nullptr;
};

/// From the trainer's next step to the last; returns whether all were run (false: a rank was asked
/// to stop, and all stopped together). Collective.
bool run_steps(const TrainConfig& config, const JobRequest& request, Backend& backend, Group& world,
               const StepParts& parts);

/// Every rank's figure, in rank order. Collective.
std::vector<double> gather_figures(Group& world, double own);

}  // namespace ds
