// Whether a program could run on this node: looked for, or run to check itself.
#include "launcher/agent/program_check.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

struct CheckFolder {
  CheckFolder() {
    std::string name = (fs::temp_directory_path() / "program_check_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    std::ofstream(path / "start-me") << "#!/bin/sh\n";
    ::chmod((path / "start-me").c_str(), 0755);
    std::ofstream(path / "text") << "no program\n";
    fs::create_directory(path / "folder");
  }
  ~CheckFolder() { fs::remove_all(path); }
  CheckFolder(const CheckFolder&) = delete;
  CheckFolder& operator=(const CheckFolder&) = delete;
  fs::path path;
};

Check check_of(const std::string& script, std::uint32_t limit_ms = 60'000) {
  Check check{.runs = true, .limit_ms = limit_ms};
  check.spec.programs = {{.argv = {"/bin/sh", "-c", script}}};
  check.spec.ranks = {{.env = {{"NAME", "value"}}}};
  return check;
}

/// Runs until there is a result, as an agent's loop does.
Checked result_of(ProgramCheck& check) {
  std::optional<Checked> result;
  const ds::Deadline deadline = ds::Deadline::after(20s);
  while (!(result = check.take_result()) && !deadline.passed()) {
    std::vector<pollfd> polled;
    check.add_polls(polled);
    ::poll(polled.data(), polled.size(), 10);
    check.turn(polled, ds::Clock::now());
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) check.reaped(pid, status);
  }
  REQUIRE(result);
  return *result;
}

}  // namespace

TEST_CASE("a program is looked for as it would be started") {
  const CheckFolder folder;
  const auto look = [&](const std::string& program, const std::string& cwd) {
    return look_for_program({.argv = {program}, .env = {{"PATH", folder.path}}, .cwd = cwd});
  };
  const std::string here = folder.path;
  CHECK(look("start-me", "/").stage == Exited::Stage::none);
  CHECK(look("./start-me", here).stage == Exited::Stage::none);
  CHECK(look(here + "/start-me", "").stage == Exited::Stage::none);
  CHECK(look("./start-me", "/").spawn_errno == ENOENT);
  CHECK(look("./start-me", "/").detail == "./start-me");
  CHECK(look("./folder", here).spawn_errno == EISDIR);
  const Exited no_folder = look("start-me", here + "/none");
  CHECK(no_folder.stage == Exited::Stage::chdir);
  CHECK(no_folder.detail == here + "/none");
  CHECK(look("start-me", here + "/text").spawn_errno == ENOTDIR);
}

TEST_CASE("a program that checks: its output, its errors and its end") {
  ProgramCheck check;
  check.start(check_of("echo \"$NAME\"; echo no >&2; exit 3"), ds::Clock::now());
  const Checked result = result_of(check);
  CHECK(result.output == "value\n");
  CHECK(result.errors == "no\n");
  CHECK(result.end.wait_status == 3 << 8);
  CHECK(check.wake_at() == ds::Clock::time_point::max());

  Check missing = check_of("");
  missing.spec.programs.front().argv = {"/none/at/all"};
  check.start(missing, ds::Clock::now());
  CHECK(result_of(check).end.stage == Exited::Stage::exec);

  Check looked_for = check_of("exit 1");
  looked_for.runs = false;
  check.start(looked_for, ds::Clock::now());
  CHECK(result_of(check).end.wait_status == 0);
}

TEST_CASE("a check that takes too long is killed, and one that is not wanted any more") {
  ProgramCheck check;
  check.start(check_of("sleep 60", 1), ds::Clock::now());
  const Checked result = result_of(check);
  CHECK(WIFSIGNALED(result.end.wait_status));
  CHECK(result.end.detail.starts_with("not done within"));

  check.start(check_of("sleep 60"), ds::Clock::now());
  check.stop();
  int status = 0;
  REQUIRE(::waitpid(-1, &status, 0) > 0);
  CHECK(WIFSIGNALED(status));
  CHECK_FALSE(check.take_result());
}
