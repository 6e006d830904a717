// What people read when a job ends.
#include "launcher/job/verdict.h"

#include <doctest/doctest.h>

#include <csignal>

#include "launcher/job/verdict_text.h"
#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;
using ds::ExitStatus;
using Paragraphs = std::vector<std::string>;

namespace {

/// `failed` ended so; all others were stopped by TERM.
JobVerdict failed(Placement placement, int failed, RankEnd end) {
  JobVerdict verdict{.placement = std::move(placement)};
  verdict.began = true;
  const int node = verdict.placement.ranks[static_cast<std::size_t>(failed)].node_rank;
  verdict.cause = {.kind = Cause::Kind::rank, .rank = failed, .node = node, .end = end};
  for (int rank = 0; rank < verdict.placement.world_size(); ++rank) {
    const bool first = rank == failed;
    verdict.ranks.push_back(
        {.end = first ? end : signaled(rank, SIGTERM).end, .ended = true, .after_cause = !first});
  }
  return verdict;
}

}  // namespace

TEST_CASE("a failed rank is named with its node and its end") {
  const JobVerdict verdict = failed(placement_of(1, 8), 3, exited(3, 200).end);
  CHECK(verdict_paragraphs(verdict, {}) ==
        Paragraphs{"rank 3 on n0: exited 200 (first failure); 7 ranks ended after it"});
  CHECK(exit_code(verdict.cause) == 200);
}

TEST_CASE("a job of one rank has no first failure, and its lines are still to be seen") {
  const JobVerdict verdict = failed(placement_of(1, 1), 0, signaled(0, SIGSEGV).end);
  CHECK(verdict_paragraphs(verdict, {.last_lines = {"a"}}) ==
        Paragraphs{"rank 0 on n0: killed by SIGSEGV"});
  CHECK(exit_code(verdict.cause) == 139);
}

TEST_CASE("a rank that never started says why") {
  const JobVerdict verdict =
      failed(placement_of(1, 1), 0,
             {ExitStatus::exited(127), "cannot run nix: No such file or directory", {}});
  CHECK(headline(verdict) == "rank 0 on n0: cannot run nix: No such file or directory");
  CHECK(exit_code(verdict.cause) == 127);
}

TEST_CASE("what the node knows of an end stands behind it") {
  const RankEnd end{ExitStatus::signaled(SIGKILL, false), {}, "out of memory (limit 2 GiB)"};
  CHECK(headline(failed(placement_of(1, 1), 0, end)) ==
        "rank 0 on n0: killed by SIGKILL: out of memory (limit 2 GiB)");
}

TEST_CASE("a long story has its details first, and the headline last") {
  JobVerdict verdict = failed(placement_of(2, 4), 5, exited(5, 1).end);
  verdict.ranks[5].pid = 4711;
  verdict.ranks[0].end = signaled(0, SIGKILL).end;
  verdict.losses.push_back({.node = 1, .host = "n9", .sweep = NodeLoss::Sweep::done, .killed = 1});
  verdict.cause.note = "after 3 restarts";
  const Paragraphs text =
      verdict_paragraphs(verdict, {.last_lines = {"Traceback:", "  \x1b[31mboom"},
                                   .out_of_sight = true,
                                   .device = "1",
                                   .error_file = "{\"message\":\n \"boom\"}\n"});
  CHECK(text ==
        Paragraphs{"the last lines of rank 5:\n  | Traceback:\n  |   ?[31mboom",
                   "the error file of rank 5:\n  | {\"message\":\n  |  \"boom\"}",
                   "rank 5: node rank 1, local rank 1, slot 1, GPU 1, process 4711",
                   "the other ranks: [1-4,6-7] killed by SIGTERM; [0] killed by SIGKILL",
                   "n9 was reached again: 1 leftover process was killed there",
                   "rank 5 on n1: exited 1 (first failure); 7 ranks ended after it, 1 by KILL; "
                   "after 3 restarts"});
}

TEST_CASE("no rank is another one if the cause is not a rank") {
  JobVerdict verdict = failed(placement_of(1, 2), 0, exited(0, 0).end);
  verdict.ranks[1].end = exited(1, 0).end;
  verdict.cause = {.kind = Cause::Kind::signal, .signo = SIGTERM};
  CHECK(verdict_paragraphs(verdict, {}).front() == "the ranks: [0-1] exited 0");
}

TEST_CASE("ranks that ended in many ways are folded, the rarest left out") {
  JobVerdict verdict = failed(placement_of(1, 12), 0, exited(0, 1).end);
  for (int rank = 3; rank < 12; ++rank)
    verdict.ranks[static_cast<std::size_t>(rank)].end = exited(rank, rank).end;
  CHECK(others_text(verdict) ==
        "[1-2] killed by SIGTERM; [10] exited 10; [11] exited 11; [3] exited 3; [4] exited 4; [5] "
        "exited 5; and 4 more ways");
}

TEST_CASE("a rank of a job with several programs is named with its group") {
  Placement placement = placement_of(1, 2);
  placement.groups = {{.name = "train", .first_rank = 0, .ranks = 1},
                      {.name = "eval", .first_rank = 1, .ranks = 1}};
  placement.ranks[1].group = 1;
  CHECK(rank_name(placement, 1) == "rank 1 (group eval) on n0");
}

TEST_CASE("numbers are folded to ranges") {
  CHECK(number_ranges({}) == "[]");
  CHECK(number_ranges({4}) == "[4]");
  CHECK(number_ranges({0, 1, 2, 5, 7, 8}) == "[0-2,5,7-8]");
  CHECK(ranks_by_node(placement_of(6, 2), {0, 1, 2, 5, 6, 8, 9, 10}) ==
        "[0-1] on n0; [2] on n1; [5] on n2; [6] on n3; and on 2 more nodes");
}

TEST_CASE("spans as people write them") {
  CHECK(span_text(250ms) == "250 ms");
  CHECK(span_text(1500ms) == "1.5 s");
  CHECK(span_text(120s) == "120 s");
  CHECK(span_text(20min) == "20 min");
}

TEST_CASE("control bytes of foreign texts do not reach the terminal") {
  CHECK(printable("a\x1b[31mb\x7f") == "a?[31mb?");
  CHECK(unreachable_text(placement_of(2, 1), {{0, "n0: \x1b]0;x"}}) == "n0: ?]0;x");
}

TEST_CASE("a job that ended well has no verdict") {
  CHECK(verdict_paragraphs({.placement = placement_of(1, 1)}, {}).empty());
  CHECK(exit_code(Cause{}) == 0);
}

TEST_CASE("incomplete log files are told before the headline, and also after success") {
  const std::string line = "2 of 8 log files are incomplete: No space left on device";
  CHECK(verdict_paragraphs({.placement = placement_of(1, 1)}, {.incomplete_logs = {line}}) ==
        Paragraphs{line});
  CHECK(verdict_paragraphs(failed(placement_of(1, 1), 0, exited(0, 3).end),
                           {.incomplete_logs = {line}})
            .front() == line);
}
