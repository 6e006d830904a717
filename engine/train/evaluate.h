// sum_losses(): the loss of data that are not trained on, for validation in training and for eval.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/exact_sum.h"
#include "engine/data/set_rows.h"
#include "engine/sample/bound_program.h"

namespace ds {

/// A sum over targets. Exact, so that it has the same bits however the rows are shared out.
struct LossSum {
  ExactSum loss{};           // nats
  std::int64_t targets = 0;  // counted ones
};

/// A program with a loss, and this rank's part of the work.
struct EvaluationRun {
  BoundProgram model;
  StepContext& context;
  std::span<SamplePlace> places;  // scratch: one for each sequence of a micro-batch
  int rank = 0, ranks = 1;
  bool all_run = false;  // the program gathers weights, so all ranks run it equally often
  // Called with the inputs of each micro-batch that counts; may be empty.
  std::function<void(std::span<const BatchInput>)> seen{};
};

/// Returns the sum over this rank's micro-batches of the rows. Row i is sequence i % B of
/// micro-batch i / B, which is rank i / B % ranks's; the last micro-batch is filled up with rows
/// whose targets do not count. Errors: as DataPart::fill() and Executor::run().
LossSum sum_losses(const DataPart& part, const SetRows& rows, const EvaluationRun& run);

}  // namespace ds
