// trace_events(): spans sorted by track and time, then what is counted beside them.
#include "engine/train/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "engine/base/step_phases.h"
#include "engine/execute/op_phase.h"
#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

// Readers find a thread by its number alone, so numbers differ between processes. The thread with
// the number of its process comes first.
constexpr int kNumbersOfRank = 16;
static_assert(kStreams + 1 < kNumbersOfRank);

int process_of(int rank) { return kNumbersOfRank * (rank + 1); }

const Op& op_of(const TraceSpan& span) {
  return span.program->ops[static_cast<std::size_t>(span.what)];
}

/// Returns 0 for steps and phases, 1 + the stream for ops.
int track_of(const TraceSpan& span) {
  return span.kind == TraceSpan::Kind::op ? 1 + static_cast<int>(op_of(span).stream) : 0;
}

/// A time in a file: microseconds.
std::string text_of(std::int64_t eighths) {
  return fmt::format("{}.{:03}", eighths / 8, eighths % 8 * 125);
}

/// What a trace counts beside the spans, each at the time of a rank.
enum class TraceCounter : std::uint8_t { between_ranks, between_tiers, memory };
constexpr std::array<std::string_view, 3> kCounterNames{"bytes between ranks",
                                                        "bytes between tiers", "values in memory"};

/// Returns the bytes that an op writes, which are those that it moves if it moves any.
std::int64_t written_bytes(const Program& program, const Op& op) {
  std::int64_t bytes = 0;
  for (const ValueId id : op.out) bytes += id == kNoValue ? 0 : bytes_of(program.value(id));
  return bytes;
}

/// Returns what the values in device memory that do not last take while each op runs, by op.
std::vector<std::int64_t> bytes_by_op(const Program& program) {
  const std::vector<Life> lives = lives_of(program);
  std::vector<std::int64_t> bytes(program.ops.size() + 1);
  for (std::size_t id = 0; id < lives.size(); ++id) {
    const Value& value = program.values[id];
    if (!lives[id].used() || value.tier != Tier::device) continue;
    const auto end = std::min(static_cast<std::size_t>(lives[id].last) + 1, bytes.size() - 1);
    bytes[std::min(static_cast<std::size_t>(lives[id].first), end)] += bytes_of(value);
    bytes[end] -= bytes_of(value);
  }
  for (std::size_t op = 1; op < bytes.size(); ++op) bytes[op] += bytes[op - 1];
  return bytes;
}

class TraceText {
 public:
  TraceText(int rank, const TraceClock& clock) : process_(process_of(rank)), clock_(clock) {}

  void head(const std::string& name, std::span<const TraceSpan> spans) {
    named("process_name", 0, name);
    std::array<bool, kStreams + 1> has{};
    for (const TraceSpan& span : spans) has[static_cast<std::size_t>(track_of(span))] = true;
    if (has[0]) named("thread_name", 0, "steps");
    for (std::size_t s = 0; s < kStreams; ++s)
      if (has[s + 1]) named("thread_name", static_cast<int>(s) + 1, kStreamNames[s]);
  }

  void span(const TraceSpan& span) {
    const std::int64_t begin = clock_.eighths(span.begin);
    add(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},)", process_, process_ + track_of(span),
        text_of(begin), text_of(clock_.eighths(span.end) - begin));
    switch (span.kind) {
      case TraceSpan::Kind::step:
        return add("\"cat\":\"step\",\"name\":\"step {}\"}},\n", span.what);
      case TraceSpan::Kind::phase:
        return add("\"cat\":\"phase\",\"name\":\"{}\"}},\n",
                   kStepPhaseNames[static_cast<std::size_t>(span.what)]);
      case TraceSpan::Kind::op:
        return op(*span.program, op_of(span));
    }
  }

  /// Adds up what is in flight: changes with their times.
  void counts(std::span<const TraceSpan> spans) {
    std::vector<std::tuple<TraceCounter, std::int64_t, std::int64_t>> changes;
    for (const TraceSpan& span : spans) {
      if (span.kind != TraceSpan::Kind::op) continue;
      const StepPhase phase = phase_of(*span.program, op_of(span));
      const bool is_comm = phase == StepPhase::reduce || phase == StepPhase::gather;
      const std::int64_t bytes = written_bytes(*span.program, op_of(span));
      if ((!is_comm && phase != StepPhase::offload) || bytes == 0) continue;
      const TraceCounter which =
          is_comm ? TraceCounter::between_ranks : TraceCounter::between_tiers;
      changes.emplace_back(which, clock_.eighths(span.begin), bytes);
      changes.emplace_back(which, clock_.eighths(span.end), -bytes);
    }
    std::ranges::sort(changes);
    std::array<std::int64_t, kCounterNames.size()> sums{};
    for (const auto& [which, time, change] : changes)
      count(which, time, sums[static_cast<std::size_t>(which)] += change);
  }

  /// Follows the memory by the ops of the compute stream, as planned.
  void memory(std::span<const TraceSpan> spans) {
    std::map<const Program*, std::vector<std::int64_t>> known;
    std::int64_t before = -1;
    for (const TraceSpan& span : spans) {
      if (track_of(span) != 1) continue;
      auto& bytes = known[span.program];
      if (bytes.empty()) bytes = bytes_by_op(*span.program);
      const std::int64_t now = bytes[static_cast<std::size_t>(span.what)];
      if (now != before) count(TraceCounter::memory, clock_.eighths(span.begin), now);
      before = now;
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void named(std::string_view what, int track, const std::string& name) {
    add("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}},\n",
        process_, process_ + track, what, nlohmann::json(name).dump());
  }

  void op(const Program& program, const Op& op) {
    const OpRow& row = row_of(op);
    add("\"cat\":\"{}\",\"name\":\"{} {}\"",
        kStepPhaseNames[static_cast<std::size_t>(phase_of(program, op))], row.name, op.path);
    const double flops = row.flops == nullptr ? 0 : row.flops(Operands(program, op));
    std::string args;
    if (op.micro >= 0) args += fmt::format(",\"micro_batch\":{}", op.micro);
    if (flops > 0) args += fmt::format(",\"flops\":{:.0f}", flops);
    if (const std::int64_t bytes = written_bytes(program, op); bytes > 0)
      args += fmt::format(",\"bytes\":{}", bytes);
    if (!args.empty()) add(",\"args\":{{{}}}", args.substr(1));
    add("}},\n");
  }

  void count(TraceCounter which, std::int64_t time, std::int64_t value) {
    add("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{}\",\"args\":{{\"bytes\":{}}}}},\n",
        process_, text_of(time), kCounterNames[static_cast<std::size_t>(which)], value);
  }

  int process_;
  const TraceClock& clock_;
  std::string text_;
};

}  // namespace

std::int64_t TraceClock::common(std::int64_t time) const {
  const double part =
      last > first ? static_cast<double>(time - first) / static_cast<double>(last - first) : 0.0;
  const auto drift = static_cast<double>(at_last.offset - at_first.offset);
  return time + at_first.offset + static_cast<std::int64_t>(part * drift);
}

std::int64_t TraceClock::eighths(Clock::time_point time) const {
  return std::max<std::int64_t>(common(nanoseconds_of(time)) - zero, 0) / 125;
}

std::string trace_events(int rank, const std::string& name, std::span<const TraceSpan> spans,
                         const TraceClock& clock) {
  std::vector<TraceSpan> sorted(spans.begin(), spans.end());
  // A step comes before the phase that begins with it. Ops are recorded in the order of their
  // stream.
  std::ranges::stable_sort(sorted, {}, [](const TraceSpan& span) {
    return std::tuple(track_of(span), span.begin, span.kind);
  });
  TraceText text(rank, clock);
  text.head(name, spans);
  for (const TraceSpan& span : sorted) text.span(span);
  text.counts(sorted);
  text.memory(sorted);
  std::string events = text.take();
  events.resize(events.size() - 2);  // the comma and the end of the line
  return events;
}

}  // namespace ds
