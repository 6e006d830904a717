// Who may fill a place: version, job, place, age.
#include <doctest/doctest.h>

#include "launcher/join/join_records.h"

namespace ds::launcher {
namespace {

const std::string kJob = "gpt";
const std::vector<std::string> kPlaces = {"gpt-0.gpt", "gpt-1.gpt"};

JoinHello hello(std::uint64_t started, const std::string& uid) {
  JoinHello hello{.job = kJob, .place = "gpt-1.gpt", .uid = uid, .started = started};
  hello.node.hostname = "gpt-1";
  return hello;
}

JoinJudgement judge(const JoinHello& newcomer, const std::optional<JoinedNode>& present = {}) {
  return judge_join(newcomer, "10.0.0.2", {kJob, kPlaces}, present);
}

TEST_CASE("an empty place is filled") {
  const JoinJudgement judgement = judge(hello(1, "a"));
  CHECK_FALSE(judgement.refusal);
  CHECK_FALSE(judgement.fence);
  CHECK(judgement.say.empty());
}

TEST_CASE("of two the newer one stays, whoever came first") {
  const JoinedNode old{hello(1, "a"), "10.0.0.1"};
  const JoinJudgement newer = judge(hello(2, "b"), old);
  CHECK_FALSE(newer.refusal);
  REQUIRE(newer.fence);
  CHECK(newer.fence->final);
  CHECK(newer.say ==
        "two nodes say that they are gpt-1.gpt: gpt-1 at 10.0.0.2 (b) and gpt-1 at 10.0.0.1 (a); "
        "the newer one stays");
  const JoinJudgement older = judge(hello(0, "b"), old);
  REQUIRE(older.refusal);
  CHECK(older.refusal->final);
  CHECK_FALSE(older.fence);
}

TEST_CASE("a silent one gives way, whatever the clocks of the nodes say") {
  const JoinedNode old{hello(5, "a"), "10.0.0.1"};
  const JoinJudgement judgement =
      judge_join(hello(1, "b"), "10.0.0.2", {kJob, kPlaces, /*present_is_silent=*/true}, old);
  CHECK_FALSE(judgement.refusal);
  REQUIRE(judgement.fence);
  CHECK(judgement.fence->final);
  CHECK(judgement.say.find("the old one is silent") != std::string::npos);
}

TEST_CASE("who dials again replaces itself") {
  const JoinedNode same{hello(1, "a"), "10.0.0.1"};
  const JoinJudgement judgement = judge(hello(1, "a"), same);
  CHECK_FALSE(judgement.refusal);
  CHECK_FALSE(judgement.fence);
}

TEST_CASE("another job may become ours, another place or version does not") {
  JoinHello other = hello(1, "a");
  other.job = "bert";
  REQUIRE(judge(other).refusal);
  CHECK_FALSE(judge(other).refusal->final);
  CHECK(judge(other).refusal->text ==
        "this is the root of job gpt, and gpt-1.gpt belongs to job bert");
  other = hello(1, "a");
  other.place = "gpt-7.gpt";
  REQUIRE(judge(other).refusal);
  CHECK(judge(other).refusal->final);
  CHECK(judge(other).refusal->code == 65);
  other = hello(1, "a");
  other.version = 99;
  REQUIRE(judge(other).refusal);
  CHECK(judge(other).refusal->final);
}

TEST_CASE("the root's own name is refused for good, with the name and what to change") {
  for (const bool open : {false, true}) {
    const JoinTerms terms{kJob, kPlaces, false, open, "gpt-1.gpt"};
    const JoinJudgement judgement = judge_join(hello(1, "a"), "10.0.0.2", terms, {});
    REQUIRE(judgement.refusal);
    CHECK(judgement.refusal->final);
    CHECK(judgement.refusal->code == 65);
    const std::string what =
        open ? "the name of the root itself; give each node a name of its own: --node-name NAME"
             : "the place of the root itself; give each node an index of its own: --node-rank";
    CHECK(judgement.say == "a node at 10.0.0.2 was refused: gpt-1.gpt is " + what);
    JoinHello other = hello(1, "a");
    other.place = "gpt-0.gpt";
    CHECK_FALSE(judge_join(other, "10.0.0.2", terms, {}).refusal);
    // Its address may have belonged to another root: that is not the node's mistake.
    other = hello(1, "a");
    other.job = "bert";
    CHECK_FALSE(judge_join(other, "10.0.0.2", terms, {}).refusal->final);
  }
}

TEST_CASE("an open job takes nodes of other names, which may leave its own name out") {
  const auto open = [](const JoinHello& newcomer, const std::optional<JoinedNode>& present = {}) {
    return judge_join(newcomer, "10.0.0.2", {kJob, kPlaces, false, /*open=*/true}, present);
  };
  JoinHello guest = hello(1, "a");
  guest.place = "n7";
  CHECK_FALSE(open(guest).refusal);
  guest.job = "";
  CHECK_FALSE(open(guest).refusal);
  CHECK(judge(guest).refusal);
  guest.job = "bert";
  REQUIRE(open(guest).refusal);
  CHECK_FALSE(open(guest).refusal->final);
  guest = hello(1, "a");
  for (const char* bad : {"", "a b", "-n7", "n7\n"}) {
    guest.place = bad;
    REQUIRE(open(guest).refusal);
    CHECK(open(guest).refusal->code == 65);
  }
  guest.place = "n7";
  JoinHello other = guest;
  other.uid = "b";
  other.started = 2;
  CHECK(open(other, JoinedNode{guest, "10.0.0.1"}).fence);
}

TEST_CASE("a guest with the name of a node of the job's own allocation does not replace it") {
  const auto open = [](const JoinHello& newcomer, const JoinHello& present, bool silent = false) {
    return judge_join(newcomer, "10.0.0.2", {kJob, kPlaces, silent, /*open=*/true},
                      JoinedNode{present, "10.0.0.1"});
  };
  const JoinHello own = hello(1, "a");
  JoinHello guest = hello(2, "b");
  guest.job = "";
  const JoinJudgement refused = open(guest, own);
  CHECK_FALSE(refused.fence);
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->final);
  CHECK(refused.refusal->text ==
        "gpt-1.gpt is a node of the job's own allocation, and its agent is connected; give the "
        "node of another allocation another name: --node-name NAME");
  CHECK(refused.say ==
        "two nodes say that they are gpt-1.gpt: gpt-1 at 10.0.0.2 (b) and gpt-1 at 10.0.0.1 (a); "
        "the node of another allocation is refused");
  // A node that the first allocation has lost may come back in another one.
  CHECK(open(guest, own, /*silent=*/true).fence);
  CHECK_FALSE(judge_join(guest, "10.0.0.2", {kJob, kPlaces, false, true}, {}).refusal);
  // The job's own agent takes the place of a guest, also of one that started later.
  const JoinJudgement first = open(own, guest);
  CHECK_FALSE(first.refusal);
  REQUIRE(first.fence);
  CHECK(first.say.ends_with("; the one of the job's own allocation stays"));
  // Two guests of one name: the newer one stays.
  JoinHello later = guest;
  later.uid = "c";
  later.started = 3;
  CHECK(open(later, guest).fence);
  CHECK(open(guest, later).refusal);
}

}  // namespace
}  // namespace ds::launcher
