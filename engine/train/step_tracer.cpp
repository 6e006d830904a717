// StepTracer: the buffers of all ranks become text where they are, and rank 0 writes the texts one
// after the other, so that it holds one rank's text at a time.
#include "engine/train/step_tracer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/own_host_name.h"
#include "engine/base/units.h"
#include "engine/comm/pieces.h"
#include "engine/monitor/trace_file.h"

namespace ds {
namespace {

constexpr auto kTraceTimeout = std::chrono::minutes(5);
constexpr std::size_t kMostSpans = std::size_t{2} << 20;  // 80 MiB of a rank
constexpr std::size_t kOtherSpans = 512;                  // phases of a step; generous

std::size_t most_ops(const TrainPrograms& programs) {
  std::size_t most = 0;
  for (const Program* const program : programs.all()) most = std::max(most, program->ops.size());
  return most;
}

/// Returns how many spans the steps need at most, validations among them.
std::size_t spans_of(const TrainConfig& config, StepRange steps, const TrainPrograms& programs,
                     int world_size) {
  std::size_t of_step = kOtherSpans;
  for (const Program* const program : programs.all()) of_step += program->ops.size();
  const auto count = static_cast<std::size_t>(steps.last - steps.first + 1);
  const std::int64_t every = config.train.validate_every;
  const std::size_t validations = 1 + (every > 0 ? count / static_cast<std::size_t>(every) : 0);
  const auto batches = static_cast<std::size_t>(config.train.validate_batches *
                                                config.determinism.virtual_ranks / world_size) +
                       1;
  const std::size_t spans =
      count * of_step + validations * batches * (programs.validation.ops.size() + 2);
  return count > kMostSpans ? kMostSpans : std::min(spans, kMostSpans);
}

std::string text_of(StepRange steps) {
  return steps.first == steps.last ? fmt::format("step {}", steps.first)
                                   : fmt::format("steps {} to {}", steps.first, steps.last);
}

/// Returns what of the named steps this run does not take; empty: it takes all.
std::string left_out(StepRange named, std::int64_t finished, std::int64_t last) {
  if (named.last <= finished)
    return fmt::format("this run begins behind step {}: there will be no trace", finished);
  if (named.first > last) return fmt::format("train.steps is {}: there will be no trace", last);
  if (named.first <= finished)
    return fmt::format("this run begins behind step {}: the trace begins there", finished);
  if (named.last > last) return fmt::format("train.steps is {}: the trace ends there", last);
  return {};
}

double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

}  // namespace

StepTracer::StepTracer(const TrainConfig& config, StepRange steps, Trainer& trainer, Group& world,
                       Device& device, TracePlace place)
    : trainer_(trainer),
      world_(world),
      steps_(steps),
      place_(std::move(place)),
      trace_(spans_of(config, steps, trainer.programs(), world.size())),
      times_(device, most_ops(trainer.programs()), trace_) {}

void StepTracer::before(std::int64_t step) {
  if (step < steps_.first || step > steps_.last) return;
  if (!has_begun_) {
    clock_.at_first = measure_clock_offset(world_, Deadline::after(kTraceTimeout));
    clock_.first = nanoseconds_of(Clock::now());
  }
  began_ = trainer_.follow(&times_, &trace_);
  if (!std::exchange(has_begun_, true)) first_ = began_;
}

void StepTracer::after(std::int64_t step, bool is_last) {
  if (step < steps_.first || step > steps_.last) return;
  const Clock::time_point end = trainer_.follow(nullptr, nullptr);
  trace_.add({.kind = TraceSpan::Kind::step, .what = step, .begin = began_, .end = end});
  if (is_last) steps_.last = step;  // a run may end earlier than it was asked to
  if (step == steps_.last) write();
}

void StepTracer::write() {
  clock_.at_last = measure_clock_offset(world_, Deadline::after(kTraceTimeout));
  clock_.last = nanoseconds_of(Clock::now());
  Facts own{.clock = clock_, .began = nanoseconds_of(first_), .dropped = trace_.dropped()};
  std::int64_t zero = std::numeric_limits<std::int64_t>::max();
  for (const Facts& rank : gather(own)) zero = std::min(zero, rank.clock.common(rank.began));
  own.clock.zero = zero;
  std::string name = fmt::format("rank {}: {}, {}", world_.rank(), own_host_name(), place_.device);
  if (own.clock.error() > 0)
    name += fmt::format(" (clock +-{:.0f} us)", microseconds(own.clock.error()));
  const std::string text = trace_events(world_.rank(), name, trace_.spans(), own.clock);
  own.bytes = static_cast<std::int64_t>(text.size());
  collect(gather(own), text);
}

std::vector<StepTracer::Facts> StepTracer::gather(const Facts& own) {
  std::vector<Facts> all(static_cast<std::size_t>(world_.size()));
  all[static_cast<std::size_t>(world_.rank())] = own;
  world_.about("trace");
  world_.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()),
                    Deadline::after(kTraceTimeout));
  return all;
}

// Rank 0 goes on receiving where it cannot write, because the others send.
void StepTracer::collect(const std::vector<Facts>& all, const std::string& own) {
  const bool writes = world_.rank() == 0;
  std::optional<TraceFile> file;
  if (writes) {
    file.emplace(place_.folder);
    file->append(head(all));
    file->append(own);
  }
  std::string text;
  for (std::size_t from = 1; from < all.size(); ++from) {
    std::vector<std::span<const std::byte>> send(all.size());
    std::vector<std::span<std::byte>> receive(all.size());
    if (static_cast<std::size_t>(world_.rank()) == from) send[0] = std::as_bytes(std::span(own));
    if (writes) {
      text.resize(static_cast<std::size_t>(all[from].bytes));
      receive[from] = std::as_writable_bytes(std::span(text));
    }
    world_.all_to_all(send, receive, Deadline::after(kTraceTimeout));
    if (!writes) continue;
    file->append(",\n");
    file->append(text);
  }
  if (!writes) return;
  file->append("\n]}\n");
  std::int64_t dropped = 0;
  for (const Facts& rank : all) dropped += rank.dropped;
  place_.tell(file->finish()
                  ? fmt::format("trace    {} of {} rank{}: {}; open it at ui.perfetto.dev",
                                text_of(steps_), all.size(), all.size() == 1 ? "" : "s",
                                file->path())
                  : fmt::format("warning: the trace cannot be written: {}; training continues",
                                file->problem()));
  if (dropped > 0)
    place_.tell(fmt::format("warning: the trace lacks {} spans that had no room; name fewer steps",
                            dropped));
}

std::string StepTracer::head(const std::vector<Facts>& all) const {
  std::string offsets, errors, dropped;
  for (const Facts& rank : all) {
    const char* const comma = offsets.empty() ? "" : ",";
    offsets += fmt::format("{}{:.3f}", comma, microseconds(rank.clock.at_last.offset));
    errors += fmt::format("{}{:.3f}", comma, microseconds(rank.clock.error()));
    dropped += fmt::format("{}{}", comma, rank.dropped);
  }
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"first_step\":{},\"last_step\":{},\"ranks\":{}"
      ","
      "\"clock_offset_us\":[{}],\"clock_error_us\":[{}],\"dropped\":[{}]}},\n\"traceEvents\":[\n",
      steps_.first, steps_.last, all.size(), offsets, errors, dropped);
}

std::unique_ptr<StepTracer> make_step_tracer(const TrainConfig& config, Trainer& trainer,
                                             Group& world, Device& device, TracePlace place) {
  const std::optional<StepRange> named = parse_step_range(config.log.trace);
  if (!named) return nullptr;
  const std::int64_t finished = trainer.finished_steps(), last = config.train.steps;
  const std::string missing = left_out(*named, finished, last);
  if (place.tell && !missing.empty())
    place.tell(fmt::format("warning: log.trace names {}, but {}", text_of(*named), missing));
  const StepRange steps{std::max(named->first, finished + 1), std::min(named->last, last)};
  if (steps.last < steps.first) return nullptr;
  return std::make_unique<StepTracer>(config, steps, trainer, world, device, std::move(place));
}

}  // namespace ds
