// Every way a rank can end or fail to begin.
#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

#include "launcher/job/verdict.h"

using namespace ds::launcher;
using ds::ExitStatus;

TEST_CASE("wait statuses are decoded") {
  CHECK(rank_end({.wait_status = 7 << 8}) == RankEnd{ExitStatus::exited(7), {}});
  CHECK(rank_end({.wait_status = SIGSEGV}) == RankEnd{ExitStatus::signaled(SIGSEGV, false), {}});
  CHECK(rank_end({.wait_status = -1}) == RankEnd{ExitStatus::lost(), {}});
}

TEST_CASE("failed starts say what could not be opened, with the codes of shells") {
  const auto failed = [](Exited::Stage stage, int error) {
    return rank_end({.stage = stage, .spawn_errno = error, .detail = "./x"});
  };
  CHECK(failed(Exited::Stage::exec, ENOENT) ==
        RankEnd{ExitStatus::exited(127), "cannot run ./x: not found"});
  CHECK(failed(Exited::Stage::exec, EACCES) ==
        RankEnd{ExitStatus::exited(126), "cannot run ./x: Permission denied"});
  CHECK(failed(Exited::Stage::exec, E2BIG).status == ExitStatus::exited(126));
  CHECK(failed(Exited::Stage::exec, E2BIG).cause.find("one word may have 128 KiB") !=
        std::string::npos);
  CHECK(failed(Exited::Stage::exec, ENOEXEC).status == ExitStatus::exited(126));
  CHECK(failed(Exited::Stage::chdir, ENOENT) ==
        RankEnd{ExitStatus::exited(65),
                "cannot enter the working directory './x': No such file or directory; create it on "
                "that node or choose another with --wdir"});
  CHECK(failed(Exited::Stage::fork, EAGAIN).status == ExitStatus::exited(1));
}
