// What is said at the end, with nodes folded.
#include "launcher/exec/results.h"

#include <doctest/doctest.h>

#include <csignal>

namespace {

using namespace ds::launcher;
using namespace ds::launcher::exec;
using Kind = NodeResult::Kind;

NodeResult exited(int code) {
  return {.kind = Kind::exited, .end = {ds::ExitStatus::exited(code), {}}};
}

}  // namespace

TEST_CASE("background processes that were killed are one line for all nodes") {
  CHECK(killed_text({"n1", "n2"}, {0, 0}).empty());
  CHECK(killed_text({"n1", "n2"}, {0, 1}) ==
        "dslaunch: 1 background process killed on n2; --leave lets them live");
  CHECK(killed_text({"n1", "n2", "n3"}, {2, 3, 2}) ==
        "dslaunch: 7 background processes killed on n[1-3]; --leave lets them live");
}

TEST_CASE("nothing is said when all is well") {
  CHECK(results_text({"n1", "n2"}, {exited(0), exited(0)}).empty());
}

TEST_CASE("nodes that ended alike share a line; those that were not reached come last") {
  const std::vector<std::string> names = {"n1", "n2", "n3", "n4", "n5", "n6", "n7"};
  const NodeResult crashed{.kind = Kind::exited,
                           .end = {ds::ExitStatus::signaled(SIGSEGV, true), {}}};
  const NodeResult missing{.kind = Kind::exited,
                           .end = {ds::ExitStatus::exited(127), "cannot run x: no such file"}};
  CHECK(results_text(names,
                     {exited(1),
                      {.kind = Kind::unreachable, .reason = "n2: refused", .stage = "connection"},
                      exited(1),
                      crashed,
                      {.kind = Kind::unreachable, .reason = "n5: refused", .stage = "connection"},
                      {.kind = Kind::lost, .reason = "n6: nothing heard for 10 s"},
                      missing}) ==
        "dslaunch: n[1,3] (2): exited 1\n"
        "dslaunch: n4: killed by SIGSEGV (core dumped)\n"
        "dslaunch: n7: cannot run x: no such file\n"
        "dslaunch: n6: lost: nothing heard for 10 s\n"
        "dslaunch: 2 of 7 nodes were not reached:\n"
        "  HOSTS       STAGE       REASON\n"
        "  n[2,5] (2)  connection  refused");
}

TEST_CASE("what was stopped is said below what failed") {
  const NodeResult stopped{.kind = Kind::stopped};
  CHECK(results_text({"n1", "n2", "n3", "n4"},
                     {stopped, exited(7), stopped, {.kind = Kind::not_started}}) ==
        "dslaunch: n2: exited 7\n"
        "dslaunch: n[1,3] (2): stopped\n"
        "dslaunch: n4: not started");
}

TEST_CASE("control bytes of a reason do not reach the terminal") {
  CHECK(results_text({"n"}, {{.kind = Kind::unreachable, .reason = "n: \x1b[2J"}}) ==
        "dslaunch: 1 of 1 node was not reached:\n  HOSTS  STAGE  REASON\n  n      -      ?[2J");
}

TEST_CASE("codes for -S") {
  CHECK(code_of(exited(3)) == 3);
  CHECK(code_of({.kind = Kind::exited, .end = {ds::ExitStatus::signaled(SIGKILL, false), {}}}) ==
        137);
  CHECK(code_of({.kind = Kind::unreachable}) == 69);
  CHECK(code_of({.kind = Kind::lost}) == 69);
  CHECK(code_of({.kind = Kind::timed_out}) == 124);
  CHECK(code_of({.kind = Kind::not_started}) == 0);
}

TEST_CASE("who runs is said in groups") {
  CHECK(stages_text({"a1", "a2", "a3", "a4"}, {NodeStage::running, NodeStage::gone,
                                               NodeStage::running, NodeStage::connecting}) ==
        "  a[1,3] (2): running\n  a4: connecting");
}
