// What dslaunch prints as pdsh.
#include "launcher/exec/pdsh_style.h"

#include <doctest/doctest.h>

namespace {

using namespace ds::launcher;
using namespace ds::launcher::exec;
using Kind = NodeResult::Kind;
using Names = std::vector<std::string>;

PdshStyle ssh() { return {.self = "pdsh@head"}; }
PdshStyle here() { return {.self = "pdsh@head", .program = "sh", .here = true}; }
Names labels(const Names& names, bool full = false) {
  std::vector<Host> hosts;
  for (const std::string& name : names) hosts.push_back({.name = name});
  return pdsh_labels(hosts, full);
}
NodeResult ended(ds::ExitStatus status, std::string cause = "") {
  return {.kind = Kind::exited, .end = {.status = status, .cause = std::move(cause)}};
}

}  // namespace

TEST_CASE("names lose their domain if all have the same") {
  CHECK(labels({"a.x.com", "b.x.com", "c"}) == Names{"a", "b", "c"});
  CHECK(labels({"a.x.com", "b.y.com"}) == Names{"a.x.com", "b.y.com"});
  CHECK(labels({"10.0.0.1"}) == Names{"10.0.0.1"});
  CHECK(labels({"a.x.com"}, true) == Names{"a.x.com"});
}

TEST_CASE("lines are whole; the last one may lack its end") {
  PdshLines lines({"a: ", "b: "});
  CHECK(lines.take(0, 1, "one\ntw") == "a: one\n");
  CHECK(lines.take(0, 2, "err") == "");
  CHECK(lines.take(1, 1, "\n") == "b: \n");
  CHECK(lines.take(0, 1, "o\rx\n\nthree") == "a: two\rx\na: \n");
  CHECK(lines.rest(0, 1) == "a: three");
  CHECK(lines.rest(0, 2) == "a: err");
  CHECK(lines.rest(0, 2).empty());
  const std::string most(PdshLines::kMostLine, 'x');
  CHECK(lines.take(1, 1, most).empty());
  CHECK(lines.take(1, 1, "y") == "b: " + most + "y");
  CHECK(lines.take(1, 1, "z\nnext\n") == "z\nb: next\n");
}

TEST_CASE("the end of a command") {
  CHECK(pdsh_result_text(ssh(), "n1", ended(ds::ExitStatus::exited(0))).empty());
  CHECK(pdsh_result_text(ssh(), "n1", ended(ds::ExitStatus::exited(3))) ==
        "pdsh@head: n1: ssh exited with exit code 3\n");
  CHECK(pdsh_result_text(ssh(), "n1", ended(ds::ExitStatus::signaled(9, false))) ==
        "pdsh@head: n1: ssh exited with exit code 255\n");
  CHECK(pdsh_result_text(here(), "n1", ended(ds::ExitStatus::signaled(9, false))) ==
        "pdsh@head: n1: sh killed by signal 9\n");
  CHECK(pdsh_result_text(here(), "n1",
                         ended(ds::ExitStatus::exited(127), "cannot run sh: not found")) ==
        "n1: pdsh@head: execvp sh failed: No such file or directory\n"
        "pdsh@head: n1: sh exited with exit code 255\n");
  CHECK(pdsh_result_text(ssh(), "n1", {.kind = Kind::timed_out}) ==
        "pdsh@head: n1: command timeout\npdsh@head: n1: ssh exited with exit code 255\n");
  CHECK(pdsh_result_text(ssh(), "n1", {.kind = Kind::unreachable, .reason = "n1: no answer"}) ==
        "n1: ssh: no answer\npdsh@head: n1: ssh exited with exit code 255\n");
  CHECK(pdsh_result_text(ssh(), "n1", {.kind = Kind::not_started}).empty());
}

TEST_CASE("codes for -S") {
  CHECK(pdsh_code_of(ssh(), ended(ds::ExitStatus::exited(3))) == 3);
  CHECK(pdsh_code_of(ssh(), ended(ds::ExitStatus::signaled(9, false))) == 255);
  CHECK(pdsh_code_of(here(), ended(ds::ExitStatus::signaled(9, false))) == 137);
  CHECK(pdsh_code_of(ssh(), {.kind = Kind::unreachable}) == 255);
  CHECK(pdsh_code_of(ssh(), {.kind = Kind::timed_out}) == 255);
  CHECK(pdsh_code_of(here(), {.kind = Kind::timed_out}) == 254);
}

TEST_CASE("an interrupt lists the hosts") {
  const std::vector<NodeStage> stages = {NodeStage::running, NodeStage::connecting,
                                         NodeStage::waiting, NodeStage::gone};
  const std::string start =
      "pdsh@head: interrupt (one more within 1 sec to abort)\n"
      "pdsh@head:  (^Z within 1 sec to cancel pending threads)\n"
      "pdsh@head: a: command in progress\npdsh@head: b: connecting\n";
  CHECK(pdsh_interrupt_text(ssh(), {"a", "b", "c", "d"}, stages) == start);
  PdshStyle all = ssh();
  all.times = true;
  CHECK(pdsh_interrupt_text(all, {"a", "b", "c", "d"}, stages) ==
        start + "pdsh@head: c: [new]\npdsh@head: d: [done]\n");
}

TEST_CASE("times") {
  CHECK(pdsh_times_text({{10, 12, 15}, {10, 13, 14}, {10, 0, 0}, {}},
                        {ended(ds::ExitStatus::exited(0)),
                         ended(ds::ExitStatus::exited(0)),
                         {.kind = Kind::unreachable},
                         {.kind = Kind::not_started}}) ==
        "Connect time:  Avg: 2 sec, Min: 2 sec,  Max: 3 sec\n"
        "Command time:  Avg: 2 sec, Min: 1 sec,  Max: 3 sec\nFailures:      1\nCanceled:      1\n");
  CHECK(pdsh_times_text({{10, 0, 0}}, {{.kind = Kind::unreachable}}) ==
        "Connect time:  no sucesses\nCommand time:  no sucesses\nFailures:      1\n");
}
