// Runs the steps of a training job with everything that happens around each step.
#pragma once

#include <vector>

#include "engine/train/checkpointer.h"
#include "engine/train/job.h"
#include "engine/train/keeper.h"
#include "engine/train/open_ledger.h"
#include "engine/train/reporter.h"
#include "engine/train/step_tracer.h"

namespace ds {

/// The objects that take part in each step; null: not on this rank, or not configured.
struct RunParts {
  Trainer& trainer;
  Reporter* reporter = nullptr;
  SampleLedger* ledger = nullptr;
  Checkpointer* saver = nullptr;
  Keeper* keeper = nullptr;
  StepTracer* tracer = nullptr;
};

/// Runs from the trainer's next step to the last one. Collective.
TrainEnd run_steps(const TrainConfig& config, const JobRequest& request, Backend& backend, Group& world,
               const RunParts& parts);

/// Returns every rank's figure, in rank order. Collective.
std::vector<double> gather_figures(Group& world, double own);

}  // namespace ds
