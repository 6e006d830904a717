// trace_events(): one rank's part of a trace file, in Chrome's trace event format.
//
// Source: "Trace Event Format", Google, and Perfetto's reader of it
// (src/trace_processor/importers/json).
#pragma once

#include <span>
#include <string>

#include "engine/base/trace_buffer.h"
#include "engine/train/clock_offset.h"

namespace ds {

/// Turns times of a rank into times of the trace. Between its two measurements the offset is taken
/// to change evenly, as the clocks of two machines drift apart.
struct TraceClock {
  std::int64_t first = 0, last = 0;  // of this rank's clock, in ns: when the offset was measured
  ClockOffset at_first{}, at_last{};
  std::int64_t zero = 0;  // of rank 0's clock: where the trace begins

  /// Returns rank 0's time.
  [[nodiscard]] std::int64_t common(std::int64_t time) const;
  /// Returns the time in the trace in units of 125 ns. A reader multiplies the microseconds of the
  /// file, which are numbers of JSON, by 1000; eighths stay exact, so spans nest as recorded.
  [[nodiscard]] std::int64_t eighths(Clock::time_point time) const;
  [[nodiscard]] std::int64_t error() const { return std::max(at_first.error, at_last.error); }
};

/// Returns the events of a rank, each on its line, with commas between them. `name` is the name of
/// its process. One track has steps and in them phases; each stream has one with its ops. Pure.
std::string trace_events(int rank, const std::string& name, std::span<const TraceSpan> spans,
                         const TraceClock& clock);

}  // namespace ds
