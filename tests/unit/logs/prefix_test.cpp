// Tests of prefix templates: fields, braces, several ranks, errors.
#include "launcher/logs/prefix.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "engine/base/error.h"
#include "launcher/hosts/fold_names.h"

namespace {

using namespace std::chrono_literals;
using namespace ds::launcher;

const RankName kThree{
    .rank = 3, .local_rank = 1, .node_rank = 1, .node = "n1", .host = "gpu-b", .group = "actor"};
const RankName kFour{
    .rank = 4, .local_rank = 0, .node_rank = 2, .node = "n2", .host = "gpu-c", .group = "actor"};

std::string render(std::string_view text, std::vector<const RankName*> ranks, int stream = 1,
                   LineTime time = {}) {
  return PrefixTemplate::parse(text).render(ranks, stream, time);
}

std::string refusal(std::string_view text) {
  try {
    PrefixTemplate::parse(text);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::usage);
    return std::string(error.what()) + "|" + error.hint();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("every field has its value") {
  CHECK(render("[{rank}] ", {&kThree}) == "[3] ");
  CHECK(render("{node}/{host}:{local_rank} {node_rank} {group} {stream}|", {&kThree}, 2) ==
        "n1/gpu-b:1 1 actor err|");
  CHECK(render("", {&kThree}).empty());
  CHECK(render("{{{rank}}}", {&kThree}) == "{3}");
}

TEST_CASE("times are the launcher's, to the millisecond") {
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
  const LineTime time{std::chrono::system_clock::time_point(1'000'000'000s + 1999us), 61'234ms};
  CHECK(render("{time} {elapsed} ", {&kThree}, 1, time) == "2001-09-09T01:46:40.001 61.234 ");
  CHECK(PrefixTemplate::parse("{elapsed}").has_time());
  CHECK_FALSE(PrefixTemplate::parse("{rank}").has_time());
}

TEST_CASE("fields of several ranks are folded") {
  CHECK(render("[{rank}] {node} {host} {group}: ", {&kThree, &kFour}) ==
        "[3-4] n[1-2] gpu-b,gpu-c actor: ");
  CHECK(render("{local_rank}", {&kThree, &kFour}) == "0-1");
}

TEST_CASE("mistakes are named with what is known") {
  CHECK(refusal("{rnak}").find("unknown field {rnak}|did you mean {rank}? known: {rank} "
                               "{local_rank}") != std::string::npos);
  CHECK(refusal("{}").find("unknown field {}|known:") != std::string::npos);
  CHECK(refusal("[{rank").find("a { without its }") != std::string::npos);
  CHECK(refusal("rank}").find("a } without its {") != std::string::npos);
}

TEST_CASE("ranks as ranges") {
  CHECK(rank_ranges(std::vector<int>{}).empty());
  CHECK(rank_ranges(std::vector{5}) == "5");
  CHECK(rank_ranges(std::vector{0, 1, 2, 4, 7, 8}) == "0-2,4,7-8");
}

TEST_CASE("colours go by rank and are closed") {
  CHECK(coloured("[0] ", 0) == "\x1b[36m[0] \x1b[0m");
  CHECK(coloured("[6] ", 6) == "\x1b[36m[6] \x1b[0m");
  CHECK(coloured("[1] ", 1) != coloured("[1] ", 2));
}
