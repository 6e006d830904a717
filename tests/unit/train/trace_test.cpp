// Tests of traces: the buffer, the clocks of ranks, and the file's format, read back.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/step_phases.h"
#include "engine/plan/work.h"
#include "engine/train/trace_events.h"
#include "support/thread_collectives.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

using Kind = TraceSpan::Kind;

Clock::time_point at(std::int64_t nanoseconds) {
  return Clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

TraceSpan phase(StepPhase which, std::int64_t begin, std::int64_t end) {
  return {.kind = Kind::phase,
          .what = static_cast<std::int64_t>(which),
          .begin = at(begin),
          .end = at(end)};
}

/// Two phases and every op of `program`, each 1001 ns long, in a step that begins at 5003.
TraceBuffer step_of(const Program& program) {
  TraceBuffer trace(1000);
  const auto ops = static_cast<std::int64_t>(program.ops.size());
  const std::int64_t end = 5003 + 1001 * ops;
  trace.add(phase(StepPhase::data, 5003, 5003));  // takes no time
  trace.add(phase(StepPhase::forward, 5003, 6004));
  trace.add(phase(StepPhase::backward, 6004, end));
  for (std::int64_t op = 0; op < ops; ++op)
    trace.add({.kind = Kind::op,
               .what = op,
               .program = &program,
               .begin = at(5003 + 1001 * op),
               .end = at(6004 + 1001 * op)});
  trace.add({.kind = Kind::step, .what = 20, .begin = at(5003), .end = at(end)});
  return trace;
}

nlohmann::json read(const std::string& events) { return nlohmann::json::parse("[" + events + "]"); }

}  // namespace

TEST_CASE("a trace's buffer joins a phase that goes on, and counts what has no room") {
  TraceBuffer trace(2);
  trace.add(phase(StepPhase::data, 1, 2));
  trace.add(phase(StepPhase::data, 2, 5));
  REQUIRE(trace.spans().size() == 1);
  CHECK(trace.spans()[0].end == at(5));
  trace.add(phase(StepPhase::data, 6, 7));
  CHECK(trace.dropped() == 0);
  trace.add(phase(StepPhase::forward, 7, 8));
  CHECK(trace.spans().size() == 2);
  CHECK(trace.dropped() == 1);
}

TEST_CASE("the clock of the phases records where phases change, without gaps") {
  TraceBuffer trace(100);
  PhaseClock clock;
  clock.enter(StepPhase::data);
  const Clock::time_point first = clock.follow(&trace);
  clock.enter(StepPhase::forward);
  static_cast<void>(clock.spent());
  clock.restart();
  { const InPhase save(&clock, StepPhase::save); }
  const Clock::time_point last = clock.follow(nullptr);
  clock.enter(StepPhase::other);
  REQUIRE(!trace.spans().empty());
  CHECK(trace.spans().front().begin == first);
  CHECK(trace.spans().back().end == last);
  for (std::size_t i = 1; i < trace.spans().size(); ++i)
    CHECK(trace.spans()[i].begin == trace.spans()[i - 1].end);
}

TEST_CASE("each exchange bounds the offset of a clock, and the best ones count") {
  OffsetBounds bounds;
  bounds.add(100, 1150, 300);  // between 850 and 1050
  CHECK(bounds.middle() == ClockOffset{950, 100});
  bounds.add(400, 1440, 500);  // between 940 and 1040
  bounds.add(600, 1590, 900);  // at most 990
  CHECK(bounds.middle() == ClockOffset{965, 25});
  CHECK_FALSE(bounds.allows_zero());
  OffsetBounds same;
  same.add(100, 150, 300);
  CHECK(same.allows_zero());
}

TEST_CASE("ranks of one machine have one clock") {
  const auto world = std::make_shared<ThreadWorld>(3);
  std::vector<ClockOffset> measured(3, ClockOffset{1, 1});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const Deadline deadline = Deadline::after(std::chrono::seconds(20));
      ThreadCollectives collectives(world, rank);
      const auto group = collectives.make_group({.name = "world", .ranks = {0, 1, 2}}, deadline);
      measured[static_cast<std::size_t>(rank)] = measure_clock_offset(*group, deadline);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(measured == std::vector<ClockOffset>(3));
}

TEST_CASE("times of a trace: rank 0's, with a drift that is even, from the trace's beginning") {
  const TraceClock clock{.first = 1'000'000,
                         .last = 3'000'000,
                         .at_first = {.offset = 500, .error = 40},
                         .at_last = {.offset = 700, .error = 90},
                         .zero = 1'000'500};
  CHECK(clock.common(1'000'000) == 1'000'500);
  CHECK(clock.common(2'000'000) == 2'000'600);
  CHECK(clock.common(3'000'000) == 3'000'700);
  CHECK(clock.eighths(at(1'001'000)) == 8);
  CHECK(clock.eighths(at(999'000)) == 0);  // nothing comes before
  CHECK(clock.error() == 90);
}

TEST_CASE("events of a rank: process, tracks, and spans that nest") {
  const Program program = differentiate(tiny_forward());
  const TraceBuffer trace = step_of(program);
  const nlohmann::json events =
      read(trace_events(1, "rank 1: \"node\"", trace.spans(), {.zero = 5003}));
  std::map<int, std::string> tracks;
  std::map<int, std::vector<std::pair<double, double>>> open;  // by track, outermost first
  std::size_t ops = 0;
  for (const nlohmann::json& event : events) {
    CHECK(event["pid"] == 32);
    const std::string kind = event["ph"];
    if (kind == "M" && event["name"] == "process_name")
      CHECK(event["args"]["name"] == "rank 1: \"node\"");
    if (kind == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (kind != "X") continue;
    const double begin = event["ts"], end = begin + double(event["dur"]);
    CHECK(begin * 8 == std::floor(begin * 8));  // exact in a reader that multiplies by 1000
    auto& outer = open[event["tid"]];
    while (!outer.empty() && outer.back().second <= begin) outer.pop_back();
    if (!outer.empty()) CHECK((begin >= outer.back().first && end <= outer.back().second));
    outer.emplace_back(begin, end);
    ops += event["tid"] == 33 ? 1 : 0;
  }
  CHECK(tracks == std::map<int, std::string>{{32, "steps"}, {33, "compute"}});
  CHECK(ops == program.ops.size());
  CHECK(open[32].size() == 2);  // the last phase in its step
}

TEST_CASE("events of ops have their kind and path, FLOPs and bytes; memory is counted") {
  const Program program = differentiate(tiny_forward());
  const TraceBuffer trace = step_of(program);
  const nlohmann::json events = read(trace_events(0, "rank 0", trace.spans(), {.zero = 5003}));
  double most = 0, last = 0, flops = 0;
  for (const nlohmann::json& event : events) {
    if (event["name"] == "values in memory") most = std::max(most, last = event["args"]["bytes"]);
    if (event["ph"] == "X" && event.contains("args") && event["args"].contains("flops"))
      flops += double(event["args"]["flops"]);
    if (event["name"] != "linear block1.mlp.fc") continue;
    CHECK(event["cat"] == "forward");
    CHECK(event["args"]["flops"] == 2 * 8 * 16 * 64);
  }
  CHECK(most > last);
  CHECK(flops == doctest::Approx(flops_of(program)));
}
