// Tests what a copy tells its user.
#include "launcher/copy/copy_summary.h"

#include <doctest/doctest.h>

using namespace ds::launcher::copy;
using namespace std::chrono_literals;
using ds::launcher::exec::NodeResult;

TEST_CASE("amounts") {
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text((1ULL << 30) - 1) == "1.0 GiB");
}

TEST_CASE("the summary counts nodes, bytes and equal files") {
  const std::vector<NodeOutcome> nodes = {{.bytes = 2048, .copied = 2, .finished = true},
                                          {.copied = 1, .unchanged = 1, .finished = true},
                                          {.failed = 2, .problem = "full"}};
  CHECK(summary_text(nodes, "to", 1500ms) ==
        "2 files to 2 of 3 nodes: 2.0 KiB in 1.5 s; 1 file was equal already");
  const std::vector<NodeOutcome> full = {{.copied = 1, .finished = true},
                                         {.failed = 1, .finished = true, .problem = "full"}};
  CHECK(summary_text(full, "to", 1500ms).starts_with("1 file to 1 of 2 nodes: "));
  CHECK(progress_text(nodes, 2000ms) == "2.0 KiB, 1.0 KiB/s, 2 of 3 nodes done");
  CHECK(failures_text({"n1", "n2", "n3"}, nodes) == "dslaunch: n3: full (and 1 more)\n");
}

TEST_CASE("files that grew have a line, here or with the nodes that sent them") {
  GrownFiles here;
  std::vector<NodeOutcome> nodes(3);
  CHECK(grown_text(here, {"n1", "n2", "n3"}, nodes).empty());
  here.add("a", 1536);
  here.add("b", 1);
  nodes[0].grown.add("log");
  nodes[2].grown.add("log");
  CHECK(grown_text(here, {"n1", "n2", "n3"}, nodes) ==
        "dslaunch: a grew while it was copied; only its first 1.5 KiB were copied; copy it again "
        "if it is not a log (and 1 more)\n"
        "dslaunch: n[1,3]: log grew while it was copied; only its first bytes were copied; copy it "
        "again if it is not a log\n");
}

TEST_CASE("a node that has everything is no failure if its program is stopped at the time limit") {
  NodeResult stopped;
  stopped.kind = NodeResult::Kind::timed_out;
  std::vector<NodeOutcome> nodes(2);
  nodes[0].finished = true;
  std::vector<NodeResult> results = {stopped, stopped};
  join_results(nodes, results, {"", ""});
  CHECK(results[0].kind == NodeResult::Kind::none);
  CHECK(results[1].kind == NodeResult::Kind::timed_out);
}

TEST_CASE("a node that had a problem before it was lost is named once") {
  NodeResult lost;
  lost.kind = NodeResult::Kind::lost;
  std::vector<NodeOutcome> nodes = {{.failed = 1, .finished = true, .problem = "full"}};
  std::vector<NodeResult> results = {lost};
  join_results(nodes, results, {""});
  CHECK(failures_text({"n1"}, nodes).empty());
  CHECK(summary_text(nodes, "to", 1500ms).starts_with("0 files to 0 of 1 node: "));
  CHECK(copy_code(nodes, results) == 69);
}

TEST_CASE("what programs said on standard error is shown also where the copy succeeded") {
  const std::vector<NodeOutcome> nodes = {{.finished = true}, {.problem = "full"}, {}, {}};
  const std::string home = "no home\n";
  CHECK(remarks_text({"n1", "n2", "n3", "n4"}, nodes, {home, home, home, ""}) ==
        "dslaunch: n[1,3]: no home\n");
}

TEST_CASE("a program that ends badly is a failure of its node") {
  NodeResult good, bad, lost;
  good.kind = bad.kind = NodeResult::Kind::exited;
  good.end.status = ds::ExitStatus::exited(0);
  bad.end.status = ds::ExitStatus::exited(3);
  lost.kind = NodeResult::Kind::lost;
  std::vector<NodeOutcome> nodes(3);
  nodes[0].finished = true;
  std::vector<NodeResult> results = {good, bad, lost};
  join_results(nodes, results, {"", "one\ncannot open the folder\n", ""});
  CHECK(nodes[0].problem.empty());
  CHECK(nodes[1].problem == "cannot open the folder");
  CHECK(results[1].kind == NodeResult::Kind::none);
  CHECK(copy_code(nodes, results) == 69);
  results[2] = {};
  CHECK(copy_code(nodes, results) == 1);
  nodes[1].problem.clear();
  CHECK(copy_code(nodes, results) == 0);
}
