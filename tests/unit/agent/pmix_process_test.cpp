// Tests the agent's end of a PMIx server that does not come up.
#include "launcher/agent/pmix_process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>

#include "support/temp_folder.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

TEST_CASE(
    "a PMIx server that hangs in its start is killed at the deadline, and that is the problem") {
  const ds::test::TempFolder folder;
  const std::string plugin = folder / "plugin.so";  // A FIFO: the loader waits for a writer.
  REQUIRE(::mkfifo(plugin.c_str(), 0600) == 0);
  ::setenv("DSLAUNCH_PMIX_PLUGIN", plugin.c_str(), 1);
  Spec spec;
  spec.mpi = {.wire = MpiWire::pmix, .size = 2};
  spec.ranks.push_back({.rank = 0, .local_rank = 0, .env = {}});
  const ds::Clock::time_point begin = ds::Clock::now();
  PmixProcess server;
  server.start(spec, folder / "pmix", begin);
  CHECK(server.wake_at() == begin + 30s);
  server.turn({}, begin + 29s);
  CHECK_FALSE(server.take_problem());
  server.turn({}, begin + 30s);
  CHECK(server.take_problem() ==
        std::optional<std::string>("the PMIx server of the ranks did not start within 30 s"));
  CHECK(server.wake_at() == ds::Clock::time_point::max());
  int status = 0;
  const pid_t pid = ::wait(&status);
  CHECK(WIFSIGNALED(status));
  CHECK(server.reaped(pid, status));
  CHECK_FALSE(server.is_running());
  CHECK_FALSE(server.take_problem());
  ::unsetenv("DSLAUNCH_PMIX_PLUGIN");
}
