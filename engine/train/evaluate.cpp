#include "engine/train/evaluate.h"

#include <algorithm>

namespace ds {
namespace {

/// Makes targets of the sequences from `first` on uncounted.
void drop_targets(std::span<const BatchInput> inputs, std::int64_t first, std::int64_t sequences) {
  const Tensor memory = memory_of(inputs, input::kTargets);
  const std::int64_t each = memory.elements() / sequences;
  auto* const targets = static_cast<std::int32_t*>(memory.data);
  std::fill(targets + first * each, targets + sequences * each, -1);
}

}  // namespace

LossSum sum_losses(const DataPart& part, const SetRows& rows, const EvaluationRun& run) {
  Executor& executor = run.model.executor;
  const std::span<const BatchInput> inputs = executor.inputs(0);
  const MicroBatch& place = run.model.program.micro_batches.front();
  const std::int64_t micro = std::ssize(run.places);
  const std::int64_t batches = (rows.count + micro - 1) / micro;
  LossSum sum;
  // A rank without a batch runs for the others.
  for (std::int64_t round = 0; round * run.ranks < batches; ++round) {
    const std::int64_t batch = round * run.ranks + run.rank;
    const bool is_idle = batch >= batches;
    if (is_idle && !run.all_run) break;
    const std::int64_t first = is_idle ? 0 : batch * micro;
    for (std::int64_t b = 0; b < micro; ++b)
      run.places[static_cast<std::size_t>(b)] =
          rows.row_of(part, std::min(first + b, rows.count - 1));
    for (const SamplePlace sample : run.places) part.will_need(sample);
    part.fill(run.places, inputs);
    if (rows.count - first < micro) drop_targets(inputs, rows.count - first, micro);
    executor.run(run.context);
    if (is_idle) continue;
    sum.loss.add(*static_cast<const double*>(executor.tensor(place.loss).data));
    sum.targets += *static_cast<const std::int64_t*>(executor.tensor(place.count).data);
    if (run.seen) run.seen(inputs);
  }
  return sum;
}

}  // namespace ds
