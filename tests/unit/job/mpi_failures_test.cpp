// Tests ends of a job that its MPI libraries cause: MPI_Abort, a broken connection, a fence that
// does not complete.
#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

MpiRankFailed aborted(int rank, int code, std::uint64_t there = 0) {
  return {rank, code, fmt::format("called MPI_Abort({})", code), {.there = there, .here = {}}};
}

/// The verdict once both ranks of the one node have got TERM.
JobVerdict verdict_of(JobState& job) {
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGTERM), kT0);
  for (const Action& action : job.on(AgentDone{0}, kT0))
    if (const auto* end = std::get_if<Conclude>(&action)) return end->verdict;
  FAIL("the job did not end");
  return {.placement = placement_of(1, 1)};
}

}  // namespace

TEST_CASE("MPI_Abort ends the job with its code, and names the rank") {
  JobState job = started_job(1, 2);
  CHECK(text_of(job.on(aborted(1, 7), kT0)) == "stop 0 10000");
  const JobVerdict verdict = verdict_of(job);
  CHECK(text_of(verdict) == "finish 7, mpi of rank 1, 1 after it");
  CHECK(headline(verdict) ==
        "rank 1 on n0 called MPI_Abort(7) (first failure); 1 rank ended after it");
  const auto json = nlohmann::json::parse(verdict_json(verdict, {}, "00ff"));
  CHECK(json["cause"]["kind"] == "mpi");
  CHECK(json["cause"]["rank"] == 1);
  CHECK(json["cause"]["exit_code"] == 7);
  CHECK(json["cause"]["reason"] == "called MPI_Abort(7)");
}

TEST_CASE("no code of MPI_Abort is success") {
  for (const auto& [code, expected] : {std::pair(0, 1), {256, 1}, {-1, 255}, {1090831, 15}}) {
    JobState job = started_job(1, 2);
    job.on(aborted(0, code), kT0);
    CHECK(exit_code(verdict_of(job).cause) == expected);
  }
}

TEST_CASE("a rank that died before another one called MPI_Abort is the first failure") {
  JobState job = started_job(1, 2);
  job.on(aborted(1, 7, 2000), kT0);
  RankExited earlier = signaled(0, SIGSEGV);
  earlier.time.there = 1500;
  job.on(earlier, kT0);
  CHECK(text_of(verdict_of(job)) == "finish 139, rank 0, 1 after it");

  JobState other = started_job(1, 2);
  RankExited later = exited(0, 15);
  later.time.there = 2500;
  other.on(later, kT0);
  other.on(aborted(1, 7, 2000), kT0);
  CHECK(text_of(verdict_of(other)) == "finish 7, mpi of rank 1, 1 after it");
}

TEST_CASE("a fence that cannot complete names the ranks that have ended") {
  JobState job = started_job(1, 2);
  job.on(exited(1, 0), kT0);
  CHECK(text_of(job.on(FenceFailed{{1}, 0ms}, kT0)) == "stop 0 10000");
  const JobVerdict verdict = verdict_of(job);
  CHECK(text_of(verdict) == "finish 1, fence without 1, 1 after it");
  CHECK(headline(verdict) ==
        "MPI ranks wait in a fence for [1] on n0, which exited without joining it; 1 rank stopped");
}

TEST_CASE("the deadline of a fence names the ranks that have not come") {
  JobState job = started_job(1, 2);
  job.on(FenceFailed{{1}, 600s}, kT0);
  const JobVerdict verdict = verdict_of(job);
  CHECK(exit_code(verdict.cause) == 124);
  CHECK(headline(verdict) ==
        "an MPI fence did not complete within 10 min: [1] on n0 did not join it; 2 ranks stopped");
  const auto json = nlohmann::json::parse(verdict_json(verdict, {}, "00ff"));
  CHECK(json["cause"]["missing"] == nlohmann::json{1});
  CHECK(json["cause"]["seconds"] == 600);
}

TEST_CASE("an MPI program restarts as others do, unless it asks not to") {
  JobState job = started_job(1, 2, {.max_restarts = 1});
  CHECK(text_of(job.on(aborted(1, 7), kT0)) == "say, stop 0 10000");
  JobState never = started_job(1, 2, {.max_restarts = 1});
  CHECK(text_of(never.on(aborted(1, 93), kT0)) == "stop 0 10000");
}

TEST_CASE("news of MPI before the start and after the end change nothing") {
  JobState starting(placement_of(1, 2), {});
  starting.on(Start{}, kT0);
  CHECK(starting.on(aborted(0, 1), kT0).empty());
  CHECK(starting.on(FenceFailed{{0}, 0ms}, kT0).empty());
  JobState stopping = started_job(1, 2);
  stopping.on(exited(0, 3), kT0);
  CHECK(stopping.on(FenceFailed{{0}, 0ms}, kT0).empty());
  CHECK(text_of(verdict_of(stopping)) == "finish 3, rank 0, 1 after it");
}
