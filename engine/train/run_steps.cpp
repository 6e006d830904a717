// Runs each step, then its report, its save and its validation.
#include "engine/train/run_steps.h"

#include <fmt/format.h>

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

/// Keeps the finished step, or saves it, so that other ranks can go on from it; saves it, too, if a
/// checkpoint was asked for. Returns whether they can go on; the job does if not.
bool pause_after(const StepReport& report, const RunParts& parts) {
  const InPhase phase(parts.trainer.phases(), StepPhase::save);
  const bool saves = parts.saver != nullptr;
  const bool is_asked = parts.keeper != nullptr && saves && parts.saver->leave_for_pause(report);
  const bool is_kept = parts.keeper != nullptr && parts.keeper->keep_now(report.step);
  const bool is_saved = saves && (is_asked || !is_kept) && parts.saver->save_for_pause(report);
  if (parts.reporter != nullptr)
    parts.reporter->note(
        is_kept    ? fmt::format("paused at step {}: its states are kept", report.step)
        : is_saved ? fmt::format("paused at step {}: its states are saved", report.step)
                   : fmt::format("not paused at step {}: its states are neither kept nor saved",
                                 report.step));
  return is_kept || is_saved;
}

/// Follows and begins saves and keeps. A save has priority, because both need the one copy. It
/// keeps its step, too, if it can be written from there.
void save_and_keep(const StepReport& report, const RunParts& parts, bool is_last) {
  const InPhase phase(parts.trainer.phases(), StepPhase::save);
  // The last checkpoint must not wait for other ranks' copies, nor for a share that it discards.
  if (parts.keeper != nullptr && report.stop)
    parts.keeper->leave(parts.saver != nullptr && parts.saver->gives_up(report));
  if (parts.saver != nullptr) parts.saver->after_step(report, is_last);
  if (parts.keeper == nullptr) return;
  if (is_last) {
    parts.keeper->copy_is_free(true);
  } else {
    parts.keeper->begin_due(report, parts.saver != nullptr && parts.saver->needs_copy());
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

TrainEnd run_steps(const TrainConfig& config, const JobRequest& request, Backend& backend,
                   Group& world, const RunParts& parts) {
  Trainer& trainer = parts.trainer;
  Reporter* const reporter = parts.reporter;
  const std::int64_t first = trainer.finished_steps() + 1;
  int save_requests = 0;  // requests already passed on
  bool pause = false;
  if (request.ends_itself != nullptr) request.ends_itself->store(true);
  if (parts.keeper != nullptr && first <= config.train.steps) parts.keeper->begin_first();
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
    if (parts.keeper != nullptr) parts.keeper->wish(wishes);
    if (parts.tracer != nullptr) parts.tracer->before(step);
    const Clock::time_point start = Clock::now();
    const StepReport report = trainer.step(wishes);
    if (parts.keeper != nullptr) parts.keeper->follow(report);
    if (request.channel != nullptr) {
      if (step == first) request.channel->tell_phase(kFirstStepPhase);
      if (world.rank() == 0)
        request.channel->tell_step(step, config.train.steps, seconds_of(Clock::now() - start),
                                   parts.keeper == nullptr ? -1 : parts.keeper->kept_step());
    }
    // Written before any save of this step, so that the ledger has every step of a checkpoint.
    if (parts.ledger != nullptr) parts.ledger->write(report.step, trainer.taken());
    if (reporter != nullptr) reporter->step(report);
    if (report.save && parts.saver == nullptr && reporter != nullptr)
      reporter->note_checkpoint(save_failed_line(report.step, "checkpoint.dir is not set", true));
    const bool is_last = report.stop || step == config.train.steps;
    if (report.pause && !is_last) {
      pause = false;  // asked again if it is not possible now
      if (pause_after(report, parts)) {
        if (parts.tracer != nullptr) parts.tracer->after(step, true);
        return TrainEnd::paused;
      }
    }
    save_and_keep(report, parts, is_last);
    if (report.stop) {
      if (parts.tracer != nullptr) parts.tracer->after(step, true);
      return TrainEnd::stopped;
    }
    if (step == first + 1 && reporter != nullptr)
      reporter->memory_after_step2(read_memory_status().anonymous_bytes);
    if (step == first && request.rendezvous.epoch == 0) {
      const double peak = matrix_peak(world, backend, config.precision.dtype);
      if (reporter != nullptr) reporter->set_matrix_peak(peak);
    }
    const bool due = config.train.validate_every > 0 && step % config.train.validate_every == 0;
    if (due || step == config.train.steps) validate(trainer, reporter);
    if (parts.tracer != nullptr) parts.tracer->after(step, step == config.train.steps);
  }
  if (first > config.train.steps) {
    if (reporter != nullptr)
      reporter->note(fmt::format(
          "resume   all {} steps of train.steps are done; to train on, raise train.steps",
          config.train.steps));
    validate(trainer, reporter);
  }
  return TrainEnd::complete;
}

}  // namespace ds
