// Tests of the job table, its JSON, and the choice of a job by its id.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "launcher/control/job_client.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kNow = 1'700'000'000'000;

JobInfo job(std::string id, std::uint64_t age_s, std::vector<std::string> command) {
  JobInfo info;
  info.id = std::move(id);
  info.state = "running";
  info.started_ms = kNow - age_s * 1000;
  info.ranks = info.ranks_left = 8;
  info.nodes = 2;
  info.command = std::move(command);
  return info;
}

std::string error_of(std::string_view typed, const std::vector<std::string>& ids) {
  try {
    return "chose " + choose_job(typed, ids);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return error.for_people();
  }
}

}  // namespace

TEST_CASE("ages") {
  CHECK(age_text(0ms) == "0s");
  CHECK(age_text(59'999ms) == "59s");
  CHECK(age_text(61s) == "1m01s");
  CHECK(age_text(1h + 5min) == "1h05m");
  CHECK(age_text(51h) == "2d03h");
}

TEST_CASE("a command is shown as a shell would read it") {
  CHECK(command_text({"./a.out", "x=1", "two words", "", "it's", "$HOME"}) ==
        "./a.out x=1 'two words' '' 'it'\\''s' '$HOME'");
}

TEST_CASE("the table: oldest first, short ids, columns in line") {
  const std::string table = jobs_table(
      {job("aaaaaaaa00000000", 5, {"true"}), job("bbbbbbbb00000000", 3700, {"./train", "a\tb"})},
      kNow, 0);
  CHECK(table ==
        "JOB       AGE    STATE    RANKS  NODES  COMMAND\n"
        "bbbbbbbb  1h01m  running  8      2      ./train 'a?b'\n"
        "aaaaaaaa  5s     running  8      2      true\n");
}

TEST_CASE("ids are as long as they must be; some ranks may have ended; silent jobs have no ranks") {
  JobInfo first = job("aaaaaaaaa1000000", 5, {"true"});
  JobInfo second = job("aaaaaaaaa2000000", 4, {"true"});
  first.ranks_left = 3;
  second.ranks = second.ranks_left = second.nodes = 0;
  second.state = "suspended";
  CHECK(jobs_table({first, second}, kNow, 0) ==
        "JOB         AGE  STATE      RANKS  NODES  COMMAND\n"
        "aaaaaaaaa1  5s   running    3/8    2      true\n"
        "aaaaaaaaa2  4s   suspended  -      -      true\n");
}

TEST_CASE("long commands are cut to the terminal, never inside a character") {
  const std::string table = jobs_table(
      {job("aaaaaaaa00000000", 5, {std::string(40, 'x') + "\xc3\xa9" + "yz..."})}, kNow, 60);
  CHECK(table.find("xxx...\n") != std::string::npos);
  const std::string letters = jobs_table(
      {job("aaaaaaaa00000000", 5, {"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"})}, kNow, 1);
  CHECK(letters.find("\xc3\xa9\xc3\xa9\xc3\xa9...\n") != std::string::npos);
}

TEST_CASE("no jobs: only the head of the table, an empty array") {
  CHECK(jobs_table({}, kNow, 80) == "JOB  AGE  STATE  RANKS  NODES  COMMAND\n");
  CHECK(jobs_json({}, kNow) == "[]\n");
}

TEST_CASE("JSON holds every field, also words that are no UTF-8") {
  const auto array =
      nlohmann::json::parse(jobs_json({job("aaaaaaaa00000000", 65, {"a", "\xff"})}, kNow));
  REQUIRE(array.size() == 1);
  CHECK(array[0]["id"] == "aaaaaaaa00000000");
  CHECK(array[0]["state"] == "running");
  CHECK(array[0]["started"] == "2023-11-14T22:12:15Z");
  CHECK(array[0]["age_seconds"] == 65);
  CHECK(array[0]["ranks"] == 8);
  CHECK(array[0]["ranks_left"] == 8);
  CHECK(array[0]["nodes"] == 2);
  CHECK(array[0]["command"] == nlohmann::json({"a", "\xef\xbf\xbd"}));
  for (const char* key : {"pid", "host", "folder", "log", "phase", "step", "kept", "checkpoint"})
    CHECK(array[0].contains(key));
}

TEST_CASE("a job is named by the beginning of its id") {
  const std::vector<std::string> ids = {"aabb000000000000", "aacc000000000000"};
  CHECK(choose_job("aab", ids) == ids[0]);
  CHECK(choose_job("aacc000000000000", ids) == ids[1]);
  CHECK(choose_job("", {ids[0]}) == ids[0]);
  CHECK(error_of("aa", ids) ==
        "several jobs have ids that begin with 'aa'\n"
        "  hint: their ids: aabb000000000000, aacc000000000000");
  CHECK(error_of("x", ids).starts_with("no running job has an id that begins with 'x'"));
  CHECK(error_of("", ids).starts_with("several jobs are running, choose one"));
  CHECK(error_of("", {}) ==
        "you have no running job on this machine\n"
        "  hint: the output of a job with --detach is in dslaunch-ID.log, in the folder where it "
        "was started");
}
