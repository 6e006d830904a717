// Tests of the termination log and report: size limit, and writes in one piece.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/job/verdict_text.h"
#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using nlohmann::json;

namespace {

json parsed(const TerminationReport& report) {
  const std::string text = termination_json(report);
  CHECK(text.size() <= kMaxTerminationReport);
  CHECK(text.ends_with("\n"));
  return json::parse(text);
}

json parsed(const JobVerdict& verdict, const RankWords& words = {}) {
  const std::string text = verdict_json(verdict, words, "00ff");
  return parsed(termination_report(text, exit_code(verdict.cause)));
}

/// File in a temporary folder, which is removed with the object.
struct OwnFile {
  std::string folder = "/tmp/ds_termination_XXXXXX";
  OwnFile() { REQUIRE(::mkdtemp(folder.data()) != nullptr); }
  ~OwnFile() { std::filesystem::remove_all(folder); }
  [[nodiscard]] std::string name() const { return folder + "/log"; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(name(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace

TEST_CASE("the verdict of a failed rank") {
  JobVerdict verdict{.placement = placement_of(2, 2)};
  verdict.began = true;
  verdict.ranks.resize(4);
  verdict.cause = {.kind = Cause::Kind::rank, .rank = 3, .end = {ds::ExitStatus::exited(7)}};
  const json seen = parsed(
      verdict,
      {.last_lines = {"Traceback", "boom\x1b[1m"}, .step = 9, .checkpoint = "/ck/step-00000008"});
  CHECK(seen["exit_code"] == 7);
  CHECK(seen["rank"] == 3);
  CHECK(seen["node"] == "n1");
  CHECK(seen["step"] == 9);
  CHECK(seen["checkpoint"] == "/ck/step-00000008");
  CHECK(seen["job"] == "00ff");
  CHECK(seen["reason"].get<std::string>().starts_with("rank 3 on n1: exited 7 (first failure)"));
  CHECK(seen["last_lines"] == json{"Traceback", "boom?[1m"});
}

TEST_CASE("success, a lost node, a signal, missing nodes, no verdict") {
  JobVerdict verdict{.placement = placement_of(2, 1)};
  json seen = parsed(verdict);
  CHECK(seen["exit_code"] == 0);
  CHECK(seen["reason"] == "all ranks ended with 0");
  CHECK(seen["rank"].is_null());
  CHECK(seen["node"].is_null());
  CHECK(seen["step"].is_null());
  CHECK(seen["checkpoint"].is_null());
  verdict.began = true;
  verdict.ranks.resize(2);
  verdict.cause = {.kind = Cause::Kind::node, .node = 1, .reason = "the connection broke"};
  seen = parsed(verdict);
  CHECK(seen["exit_code"] == 69);
  CHECK(seen["node"] == "n1");
  verdict.cause = {.kind = Cause::Kind::signal, .signo = SIGTERM};
  CHECK(parsed(verdict)["exit_code"] == 143);
  verdict.cause = {.kind = Cause::Kind::unreachable, .reason = "n1: no DNS record"};
  CHECK(parsed(verdict)["reason"] == "n1: no DNS record");
  CHECK(termination_report(R"({"text": 3, "cause": 1})", 1).reason.empty());
  for (const char* none : {"", "[]", "{", "1 of 2 nodes is missing", "null"}) {
    seen = json::parse(termination_json(termination_report(none, 65)));
    CHECK(seen["exit_code"] == 65);
    CHECK(seen["reason"] == none);
  }
}

TEST_CASE("a report is never longer than Kubernetes keeps") {
  TerminationReport report{.exit_code = 1, .reason = "r", .node = "n"};
  for (int i = 0; i < 40; ++i) report.last_lines.emplace_back(200, static_cast<char>('a' + i % 26));
  const json seen = parsed(report);
  CHECK(seen["last_lines"].size() > 10);
  CHECK(seen["last_lines"].back() == report.last_lines.back());  // the newest stay
  report.reason.assign(10'000, '\xff');                          // each becomes three bytes
  report.node.assign(9'000, '"');                                // each becomes two
  report.job.assign(9'000, 'j');
  report.last_lines.assign(100, std::string(5000, '\x01'));
  CHECK(parsed(report)["last_lines"].empty());
}

TEST_CASE("the log is replaced as a whole, in the same file") {
  const OwnFile file;
  {
    TerminationLog log(file.name());
    CHECK(!log.written());
    std::filesystem::create_hard_link(file.name(), file.folder + "/mounted");
    CHECK(log.write("a long one\n") == std::nullopt);
    CHECK(log.written());
    CHECK(file.text() == "a long one\n");
    CHECK(log.write("short\n") == std::nullopt);
    CHECK(file.text() == "short\n");
    CHECK(std::filesystem::hard_link_count(file.name()) == 2);  // still the mounted file
  }
  const TerminationLog next(file.name());  // the text of an earlier run was removed
  CHECK(file.text().empty());
}

TEST_CASE("a log that was named and cannot be written is an error") {
  CHECK_THROWS_AS(TerminationLog("/nowhere/at/all"), ds::Error);
  CHECK_THROWS_AS(TerminationLog("/tmp"), ds::Error);
}
