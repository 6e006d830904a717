// Tests of ExitStatus: every form of waitpid, the shell's code, the text for messages.
#include "engine/base/exit_status.h"

#include <doctest/doctest.h>

#include <csignal>

using ds::ExitStatus;

TEST_CASE("wait statuses decode to what a shell would report") {
  struct Row {
    int wait_status;
    int shell_code;
    const char* text;
  };
  const Row rows[] = {
      {0x0000, 0, "exited 0"},
      {0x0700, 7, "exited 7"},
      {0xff00, 255, "exited 255"},
      {SIGKILL, 137, "killed by SIGKILL"},
      {SIGSEGV | 0x80, 139, "killed by SIGSEGV (core dumped)"},
  };
  for (const Row& row : rows) {
    const ExitStatus status = ExitStatus::from_wait_status(row.wait_status);
    CHECK(status.shell_code() == row.shell_code);
    CHECK(status.describe() == row.text);
  }
  CHECK(ExitStatus::lost().shell_code() == 69);
  CHECK_FALSE(ExitStatus::lost().success());
}

TEST_CASE("signals by name or number, and nothing else") {
  CHECK(ds::signal_number("USR1") == SIGUSR1);
  CHECK(ds::signal_number("sigterm") == SIGTERM);
  CHECK(ds::signal_number("9") == SIGKILL);
  for (const char* text : {"", "0", "-1", "65", "999999999999", "SIG", "USR3", "9x", "TERM "})
    CHECK_FALSE(ds::signal_number(text));
}
