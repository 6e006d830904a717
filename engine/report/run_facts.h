// Facts about one run for the head of a report: how it ended, and labeled texts (pure).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/report/join_parts.h"
#include "engine/report/run_part.h"

namespace ds::report {

/// How a run stands. interrupted: no summary, and nothing was written for a while.
enum class RunState : std::uint8_t { finished, stopped, running, interrupted };

/// `now`: seconds since 1970. A run without a summary is running while its metrics are younger than
/// a minute, or than 3 times the longest of its last pauses between two lines.
RunState state_of(const RunPart& newest, std::int64_t now);
/// Returns "finished", "stopped at step 40 of 100", "running", "interrupted: no summary".
std::string state_text(RunState state, const RunPart& newest, const JoinedRun& run);

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Returns label and value of what was measured: steps, losses, speed, time.
Facts result_facts(const RunPart& newest, const JoinedRun& run);
/// Returns label and value of what ran: model, type, stage, ranks, device, times, build.
Facts setup_facts(const std::vector<RunPart>& parts, const JoinedRun& run, RunState state);

/// An event of a run with its step.
struct RunEvent {
  std::int64_t step = 0;
  std::string text;
};
/// Returns resumes, losses that are not finite, skipped steps and damaged lines, by step. Each kind
/// has at most 50 entries; the last one counts the others.
std::vector<RunEvent> events_of(const std::vector<RunPart>& parts, const JoinedRun& run);

}  // namespace ds::report
