// Tests that dsrunner's check of a configuration stops nothing else, with a script for dsrunner.
#include "launcher/commands/start/check_config.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <stdexcept>

#include "engine/base/deadline.h"
#include "support/temp_folder.h"

using namespace ds::launcher;

namespace {

/// Runs the check of a dsrunner with this text.
ConfigCheck check(const std::string& body, const std::function<bool()>& goes_on) {
  const ds::test::TempFolder folder;
  const std::string path = folder.file("dsrunner", "#!/bin/sh\n" + body + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Program program;
  program.argv = {path, "train.toml"};
  program.working_directory = folder / "";
  PlacedJob placed;
  placed.placement.nodes.resize(1);
  return check_config(program, placed, /*here=*/true, goes_on);
}

}  // namespace

TEST_CASE("other work goes on while dsrunner checks, and its answer counts") {
  int calls = 0;
  const auto goes_on = [&] {
    ++calls;
    return true;
  };
  const ConfigCheck answer = check("sleep 0.5; echo 'dsrunner: train.toml: bad'; exit 65", goes_on);
  CHECK(answer.code == 65);
  CHECK(answer.problem.find("bad") != std::string::npos);
  CHECK(calls >= 3);
  CHECK(check("exit 3", {}).code == 3);
}

TEST_CASE("a check that is no longer wanted is killed") {
  const auto begun = ds::Clock::now();
  int calls = 0;
  // The child of the shell keeps the pipe open.
  const ConfigCheck answer = check("sleep 60", [&] { return ++calls < 4; });
  CHECK(answer.code == 128 + 9);
  CHECK(ds::seconds_of(ds::Clock::now() - begun) < 30);
}

TEST_CASE("a check is killed when other work fails") {
  const auto begun = ds::Clock::now();
  CHECK_THROWS(check("sleep 60", []() -> bool { throw std::runtime_error("failed"); }));
  CHECK(ds::seconds_of(ds::Clock::now() - begun) < 30);
}
