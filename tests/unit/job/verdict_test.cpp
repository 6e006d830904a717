// What people read when a job ends.
#include "launcher/job/verdict.h"

#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using ds::ExitStatus;

TEST_CASE("a failed rank is named with its node and its end") {
  const Cause cause{
      .kind = Cause::Kind::rank, .rank = 3, .node = 1, .end = {ExitStatus::exited(200), {}}};
  CHECK(verdict(placement_of(2, 4), cause, {.stopped = 7}) ==
        "rank 3 on n0: exited 200 (first failure); 7 ranks stopped after it");
  CHECK(exit_code(cause) == 200);
}

TEST_CASE("a job of one rank has no first failure") {
  const Cause cause{.kind = Cause::Kind::rank, .end = {ExitStatus::signaled(SIGSEGV, false), {}}};
  CHECK(verdict(placement_of(1, 1), cause, {}) == "rank 0 on n0: killed by SIGSEGV");
  CHECK(exit_code(cause) == 139);
}

TEST_CASE("a rank that never started says why") {
  const Cause cause{.kind = Cause::Kind::rank,
                    .end = {ExitStatus::exited(127), "cannot run nix: No such file or directory"}};
  CHECK(verdict(placement_of(1, 1), cause, {}) ==
        "rank 0 on n0: cannot run nix: No such file or directory");
  CHECK(exit_code(cause) == 127);
}

TEST_CASE("control bytes of foreign texts do not reach the terminal") {
  CHECK(printable("a\x1b[31mb\x7f") == "a?[31mb?");
  CHECK(unreachable_text(placement_of(2, 1), {{0, "n0: \x1b]0;x"}}) == "n0: ?]0;x");
}

TEST_CASE("a job that ended well has no verdict") {
  CHECK(verdict(placement_of(1, 1), {}, {}).empty());
  CHECK(exit_code(Cause{}) == 0);
}
