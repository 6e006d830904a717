// What programs read when a job ends.
#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "launcher/job/verdict_text.h"
#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json parsed(const JobVerdict& verdict, const RankWords& words = {}) {
  return json::parse(verdict_json(verdict, words, "00ff"));
}

JobVerdict of(JobState& job, const std::vector<Event>& events) {
  for (const Event& event : events)
    for (const Action& action : job.on(event, kT0 + 1500ms))
      if (const auto* end = std::get_if<Conclude>(&action)) return end->verdict;
  FAIL("the job did not end");
  return {.placement = placement_of(1, 1)};
}

}  // namespace

TEST_CASE("a job that went well") {
  JobState job = started_job(1, 2);
  const json seen = parsed(of(job, {exited(0, 0), exited(1, 0), AgentDone{0}, OutputWritten{}}));
  CHECK(seen["format"] == 1);
  CHECK(seen["job"] == "00ff");
  CHECK(seen["exit_code"] == 0);
  CHECK(seen["text"] == "");
  CHECK(seen["seconds"] == 1.5);
  CHECK(seen["world_size"] == 2);
  CHECK(seen["cause"] == json{{"kind", "none"}});
  CHECK(seen["ranks"] == json::parse(R"([{"ranks": "[0-1]", "count": 2, "end": "exited 0"}])"));
  CHECK(seen["nodes"] == json{"n0"});
  CHECK(seen["restarts"].empty());
  CHECK(seen["error_file"].is_null());
  CHECK(seen["step"].is_null());
  CHECK(seen["checkpoint"].is_null());
}

TEST_CASE("steps are read from lines that count them") {
  CHECK(last_step({}) == std::nullopt);
  CHECK(last_step({"step 3", "a step 4/5", "step x/5", "step 99999999999999999999/5"}) ==
        std::nullopt);
  CHECK(last_step({"step 3/10  loss 1", "step   12/100", "done"}) == 12);
}

TEST_CASE("a failed rank, its words, and how the others ended") {
  JobState job = started_job(2, 2);
  const JobVerdict verdict = of(
      job, {RankStarted{3, 4711}, RankExited{3, {ds::ExitStatus::signaled(SIGSEGV, true), {}, "x"}},
            signaled(0, SIGTERM), signaled(1, SIGTERM), signaled(2, SIGKILL), AgentDone{0},
            AgentDone{1}});
  const json seen = parsed(verdict, {.last_lines = {"a\x1b[1m", "\xff"},
                                     .out_of_sight = false,
                                     .error_file = R"({"message": {"extraInfo": 1}})"});
  CHECK(seen["exit_code"] == 139);
  CHECK(seen["text"] ==
        "rank 3 on n1: killed by SIGSEGV (core dumped): x (first failure); 3 ranks ended after "
        "it, 1 by KILL");
  CHECK(seen["cause"] == json::parse(R"({"kind": "rank", "rank": 3, "group": "default",
      "node": "n1", "node_rank": 1, "local_rank": 1, "slot": 1, "device": null, "pid": 4711, "exit_code": null,
      "signal": "SIGSEGV", "core_dumped": true, "detail": "x"})"));
  CHECK(seen["last_lines"] == json::parse(R"(["a?[1m", "\ufffd"])"));
  CHECK(seen["error_file"]["message"]["extraInfo"] == 1);
  CHECK(seen["ranks"][0] ==
        json::parse(R"({"ranks": "[0-1]", "count": 2, "end": "killed by SIGTERM"})"));
  CHECK(seen["ranks"].size() == 3);
}

TEST_CASE("lost nodes and restarts") {
  JobState job = started_job(2, 1, {.max_restarts = 1});
  const json seen = parsed(
      of(job, {AgentLost{1, "n1: reset"}, signaled(0, SIGTERM), AgentCleared{0}, AgentGreeted{2},
               AgentSwept{2, 4}, AgentReady{0, 1}, AgentReady{2, 0}, RankStarted{0, 1},
               RankStarted{1, 2}, exited(0, 0), exited(1, 0), AgentCleared{0}, AgentCleared{2},
               AgentDone{0}, AgentDone{2}, OutputWritten{}}));
  CHECK(seen["exit_code"] == 0);
  CHECK(seen["lost_nodes"] == json::parse(R"([{"node": "n1", "node_rank": 1,
      "reason": "n1: reset", "sweep": "done", "killed": 4}])"));
  CHECK(seen["restarts"] ==
        json::parse(R"([{"cause": "node n1 is lost: reset", "seconds": 0.0}])"));
}

TEST_CASE("epochs of a job whose number of nodes changes") {
  JobPolicy policy{.max_restarts = 1};
  policy.elastic = ElasticPolicy{.nodes = {1, 2}};
  JobState job(placement_of(2, 1), policy);
  const json seen = parsed(
      of(job, {Start{}, AgentGreeted{0}, AgentGreeted{1}, AgentReady{0, 1}, AgentReady{1, 1},
               AgentLost{1, "n1: reset"}, signaled(0, SIGTERM), AgentCleared{0}, AgentReady{0, 1},
               RankStarted{0, 1}, PhaseReached{"met", kT0 + 3s}, exited(0, 0),
               AgentLost{2, "n1: no route"}, AgentCleared{0}, AgentDone{0}, OutputWritten{}}));
  CHECK(seen["exit_code"] == 0);
  CHECK(seen["restarts"] == json::array());
  REQUIRE(seen["epochs"].size() == 2);
  CHECK(seen["epochs"][0]["cause"] == "start");
  CHECK(seen["epochs"][0]["stopped"] == nullptr);
  CHECK(seen["epochs"][1] == json::parse(R"({"epoch": 1, "cause": "lost",
      "text": "node n1 is lost: reset", "restart": false, "nodes_before": 2, "nodes": 1,
      "ranks_before": 2, "ranks": 1, "seen": 0.0, "stopped": 0.0, "placed": 0.0, "started": 0.0,
      "reached": {"met": 1.5}})"));
  CHECK(seen["epochs"][0]["reached"] == json::object());
  JobState fixed = started_job(1, 1, {});
  CHECK(!parsed(of(fixed, {exited(0, 3), AgentDone{0}})).contains("epochs"));
}

TEST_CASE("hosts that cannot be used are in the text") {
  JobState job(placement_of(2, 1), {});
  const json seen = parsed(of(job, {Start{}, AgentLost{0, "n0: refused", "connection"},
                                    AgentLost{1, "n1: no \x1b route", "connection"}}));
  CHECK(seen["exit_code"] == 69);
  CHECK(seen["text"] ==
        "2 of 2 nodes cannot be used:\n  HOSTS  STAGE       REASON\n"
        "  n0     connection  refused\n  n1     connection  no ? route");
  CHECK(seen["cause"]["nodes"] == json::parse(R"([
      {"node": "n0", "node_rank": 0, "stage": "connection", "reason": "n0: refused"},
      {"node": "n1", "node_rank": 1, "stage": "connection", "reason": "n1: no ? route"}])"));
  CHECK(seen["ranks"][0]["end"] == "not started");
}

TEST_CASE("incomplete log files are a line for each machine") {
  JobVerdict verdict{.placement = placement_of(1, 1)};
  verdict.ranks.resize(1);
  CHECK(json::parse(verdict_json(verdict, {}, "4f"))["logs_incomplete"] == json::array());
  const RankWords words{.incomplete_logs = {"n0: 1 of 1 log files is incomplete: EIO"}};
  CHECK(json::parse(verdict_json(verdict, words, "4f"))["logs_incomplete"] ==
        json::parse(R"(["n0: 1 of 1 log files is incomplete: EIO"])"));
}
