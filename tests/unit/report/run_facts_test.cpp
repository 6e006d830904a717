// Tests the facts of a run: its state, texts and events.
#include "engine/report/run_facts.h"

#include <doctest/doctest.h>

#include "unit/report/lines.h"

using namespace ds::report;
using ds::test::part_of;

namespace {

std::string fact(const Facts& facts, const std::string& label) {
  for (const auto& [name, value] : facts)
    if (name == label) return value;
  return "none";
}

}  // namespace

TEST_CASE("report: states") {
  RunPart part = part_of(1, 40);
  part.config = {{"train.steps", "100"}};
  part.changed = 1000;
  CHECK(state_of(part, 1010) == RunState::running);
  CHECK(state_of(part, 1070) == RunState::interrupted);
  part.steps.back().at.elapsed_s += 100;  // lines that come every 100 s are not late after 70 s
  CHECK(state_of(part, 1070) == RunState::running);
  part.summary = {{"steps", "40"}};
  CHECK(state_of(part, 1070) == RunState::stopped);
  const JoinedRun run = join_parts(std::vector{part});
  CHECK(state_text(RunState::stopped, part, run) == "stopped at step 40 of 100");
  CHECK(state_text(RunState::interrupted, part, run) == "interrupted at step 40 of 100");
  part.summary = {{"steps", "100"}};
  CHECK(state_of(part, 9999) == RunState::finished);
}

TEST_CASE("report: facts") {
  RunPart part = part_of(1, 40, 1.5);
  part.config = {{"model.preset", "\"gpt-tiny\""},
                 {"model.layers", "2"},
                 {"model.hidden", "64"},
                 {"precision.dtype", "\"bf16\""},
                 {"zero.stage", "2"}};
  part.summary = {{"world_size", "8"}, {"peak_fraction", "0.412"}, {"parameters", "10800000"}};
  part.validations = {{{10, 0, 0}, 2.5, ""}, {{20, 0, 0}, 1.25, ""}, {{20, 0, 0}, 3, "b"}};
  const JoinedRun run = join_parts(std::vector{part});
  const Facts results = result_facts(part, run);
  CHECK(fact(results, "Steps") == "40");
  CHECK(fact(results, "Tokens") == "4.0 k");
  CHECK(fact(results, "Final loss") == "1.5000");
  CHECK(fact(results, "Best validation loss") == "1.2500 (step 20), b 3.0000 (step 20)");
  CHECK(fact(results, "MFU") == "41.2 %");
  const Facts setup = setup_facts({part}, run, RunState::finished);
  CHECK(fact(setup, "Model") == "gpt-tiny, 2 layers × 64 wide");
  CHECK(fact(setup, "Type") == "bf16");
  CHECK(fact(setup, "ZeRO stage") == "2");
  CHECK(fact(setup, "Ranks") == "8");
  CHECK(fact(setup, "Parameters") == "10.8 M");
}

TEST_CASE("report: what a process wrote at its start is known of a killed run, too") {
  RunPart part = part_of(1, 4);
  part.start = {{"world_size", "8"},
                {"local_ranks", "4"},
                {"host", "node-1"},
                {"started", "2026-08-01 12:00"},
                {"build", "0.1.0 abc"}};
  const Facts setup = setup_facts({part}, join_parts(std::vector{part}), RunState::interrupted);
  CHECK(fact(setup, "Ranks") == "8, 4 of them on node-1");
  CHECK(fact(setup, "Started (UTC)") == "2026-08-01 12:00");
  CHECK(fact(setup, "Build") == "0.1.0 abc");
}

TEST_CASE("report: events") {
  RunPart first = part_of(1, 12), second = part_of(9, 200);
  first.bad = {.count = 2, .first = "previous-1/metrics.jsonl:4", .cut_end = true};
  first.name = "previous-1";
  second.steps[3].figures[0] = kNoNumber;
  for (std::size_t i = 0; i < second.steps.size(); ++i)
    second.steps[i].figures[static_cast<std::size_t>(Figure::skipped)] =
        static_cast<double>(i < 3 ? i : 1 + i / 2);
  const std::vector<RunPart> parts = {first, second};
  const std::vector<RunEvent> events = events_of(parts, join_parts(parts));
  std::string all;
  for (const RunEvent& event : events) all += std::to_string(event.step) + " " + event.text + "\n";
  CHECK(all.find("8 resumed at step 8; 4 steps were done again\n") != std::string::npos);
  CHECK(all.find("12 the loss is not finite\n") != std::string::npos);
  CHECK(all.find("10 skipped 2 steps: gradients not finite\n") != std::string::npos);
  CHECK(all.find("46 more reports of skipped steps\n") != std::string::npos);
  CHECK(all.find("2 damaged lines left out, the first at previous-1/metrics.jsonl:4\n") !=
        std::string::npos);
  CHECK(all.find("the last line of previous-1/metrics.jsonl is cut\n") != std::string::npos);
}
