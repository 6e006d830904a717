// Runs each step, then its report, its save and its validation.
#include "engine/train/run_steps.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/comm/pieces.h"
#include "engine/monitor/memory_status.h"

namespace ds {
namespace {

constexpr auto kGroupTimeout = std::chrono::minutes(5);

// All ranks measure at the same time, as they train at the same time. Returns 0 if a rank had no
// memory for the measurement.
double matrix_peak(Group& world, Backend& backend, Precision precision) {
  world.barrier(Deadline::after(kGroupTimeout));
  const std::vector<double> all =
      gather_figures(world, backend.kernels->measure_matrix_peak(act_of(precision)));
  return std::ranges::count(all, 0.0) > 0 ? 0.0 : std::accumulate(all.begin(), all.end(), 0.0);
}

void validate(Trainer& trainer, Reporter* reporter) {
  for (const HeldOut& set : trainer.held_out()) {
    const double loss = trainer.validate(set);
    if (reporter != nullptr) reporter->validation(trainer.finished_steps(), set.name, loss);
  }
}

}  // namespace

std::vector<double> gather_figures(Group& world, double own) {
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  all[static_cast<std::size_t>(world.rank())] = own;
  world.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()),
                   Deadline::after(kGroupTimeout));
  return all;
}

bool run_steps(const TrainConfig& config, const JobRequest& request, Backend& backend, Group& world,
               const RunParts& parts) {
  Trainer& trainer = parts.trainer;
  Reporter* const reporter = parts.reporter;
  const std::int64_t first = trainer.finished_steps() + 1;
  int save_requests = 0;  // requests already passed on
  bool pause = false;
  if (request.ends_itself != nullptr) request.ends_itself->store(true);
  if (trainer.phases() != nullptr) trainer.phases()->restart();  // what came before is not training
  for (std::int64_t step = first; step <= config.train.steps; ++step) {
    StepWishes wishes;
    wishes.stop = request.stop_signal != nullptr && request.stop_signal->load() != 0;
    const int asked = request.save_requests == nullptr ? 0 : request.save_requests->load();
    const RankOrders orders =
        request.channel == nullptr ? RankOrders{} : request.channel->take_orders();
    wishes.save = std::exchange(save_requests, asked) != asked || orders.saves > 0;
    wishes.pause = pause = pause || orders.pause;
    if (parts.saver != nullptr) parts.saver->wish(wishes);
    if (parts.tracer != nullptr) parts.tracer->before(step);
    const Clock::time_point start = Clock::now();
    const StepReport report = trainer.step(wishes);
    if (request.channel != nullptr) {
      if (step == first) request.channel->tell_phase("first_step");
      if (world.rank() == 0)
        request.channel->tell_step(step, config.train.steps, seconds_of(Clock::now() - start), -1);
    }
    // Written before any save of this step, so that the ledger has every step of a checkpoint.
    if (parts.ledger != nullptr) parts.ledger->write(report.step, trainer.taken());
    if (reporter != nullptr) reporter->step(report);
    if (parts.saver != nullptr) {
      const InPhase phase(trainer.phases(), StepPhase::save);
      parts.saver->after_step(report, report.stop || step == config.train.steps);
    } else if (report.save && reporter != nullptr) {
      reporter->note_checkpoint(save_failed_line(report.step, "checkpoint.dir is not set", true));
    }
    if (report.stop) {
      if (parts.tracer != nullptr) parts.tracer->after(step, true);
      return false;
    }
    if (step == first + 1 && reporter != nullptr)
      reporter->memory_after_step2(read_memory_status().anonymous_bytes);
    if (step == first) {
      const double peak = matrix_peak(world, backend, config.precision.dtype);
      if (reporter != nullptr) reporter->set_matrix_peak(peak);
    }
    const bool due = config.train.validate_every > 0 && step % config.train.validate_every == 0;
    if (due || step == config.train.steps) validate(trainer, reporter);
    if (parts.tracer != nullptr) parts.tracer->after(step, step == config.train.steps);
  }
  if (first > config.train.steps) validate(trainer, reporter);
  return true;
}

}  // namespace ds
