// Tests of find_hangs(): what is found about a rank that waits, from the reports of all.
#include "engine/comm/rank_report.h"

#include <doctest/doctest.h>

using namespace ds;
using namespace std::chrono_literals;

namespace {

const Clock::time_point kNow{1h};

Call gather(std::uint64_t number) { return {number, "all_gather", "gather.block3", 7}; }
Call reduce(std::uint64_t number) { return {number, "all_to_all", "reduce.block3", 0}; }

RankReport::InGroup in_world(bool waiting, std::vector<Call> calls) {
  return {.group = "world/0/1", .waiting = waiting, .calls = std::move(calls)};
}

// A rank whose last report is `beat` old and whose last progress is `progress` old.
Observed observed(Clock::duration beat, Clock::duration progress, std::string doing,
                  std::vector<RankReport::InGroup> groups) {
  return {.report = {.progress = 1, .doing = std::move(doing), .groups = groups},
          .beat_at = kNow - beat,
          .progress_at = kNow - progress};
}

Findings found(const std::vector<Observed>& ranks) {
  const auto members_of = [](const std::string&) { return std::vector<int>{0, 1, 2}; };
  return find_hangs(ranks, members_of, 20s, kNow);
}

// Returns the verdict on rank 0, which waits in a call; `ranks` are the others.
std::string judged(std::vector<Observed> ranks, Clock::duration waited = 30s) {
  Observed self = observed(0s, waited, "block3.attn", {in_world(true, {gather(17)})});
  self.report.groups[0].waited = waited;
  ranks.insert(ranks.begin(), self);
  for (const Verdict& verdict : found(ranks).verdicts)
    if (verdict.group == "world/0/1" && verdict.call == gather(17)) return verdict.reason;
  return "";
}

Observed waits_too() { return observed(1s, 30s, "block3.attn", {in_world(true, {gather(17)})}); }

}  // namespace

TEST_CASE("decoding restores encoded reports and refuses malformed text") {
  RankReport report{.progress = 99, .doing = "block3.attn", .groups = {}};
  report.groups = {in_world(true, {reduce(16), gather(17)}), in_world(false, {})};
  report.groups[1].group = "gather/0/1";
  report.groups[1].failed = "rank 1: no\tanswer";
  const auto back = decode_rank_report(encode(report));
  REQUIRE(back);
  CHECK(encode(*back) == encode(report));
  CHECK(back->groups[0].calls[1].about == "gather.block3");
  CHECK(back->groups[1].calls.empty());
  for (std::size_t length = 0; length < encode(report).size(); ++length)
    CHECK(!decode_rank_report(encode(report).substr(0, length)));
  CHECK(!decode_rank_report(encode(report) + "x"));
  report.groups[1].waiting = true;  // in no call
  CHECK(!decode_rank_report(encode(report)));
}

TEST_CASE("findings are restored, and each rank that waits finds the verdict on its call") {
  Observed self = observed(0s, 30s, "block3.attn", {in_world(true, {gather(17)})});
  const Observed other = observed(0s, 0s, "", {in_world(true, {reduce(17)})});
  const auto back = decode_findings(encode(found({self, waits_too(), other})));
  REQUIRE(back);
  REQUIRE(back->verdicts.size() == 2);
  CHECK(back->verdicts[0].call == gather(17));
  CHECK(back->verdicts[0].reason.find("rank 2 issued all_to_all") != std::string::npos);
  CHECK(back->verdicts[1].call == reduce(17));
  CHECK(back->place ==
        "in block3.attn, waiting in all_gather gather.block3 (number 17) of group world");
  CHECK(found({self, waits_too(), waits_too()}).verdicts.empty());
  // A rank that is silent says nothing about itself: the first of the others does.
  const Observed silent = observed(25s, 25s, "block5.mlp", {in_world(true, {gather(17)})});
  const Findings named = found({silent, waits_too(), waits_too()});
  REQUIRE(named.verdicts.size() == 1);
  CHECK(named.verdicts[0].reason.starts_with("rank 0 has been silent for 25 s"));
  CHECK(named.suspicion == "rank 0 has been silent for 25 s");
  // So it is for a rank that has given up and whose call has not ended yet.
  self.report.groups[0].failed = "the group was aborted";
  const Findings failed = found({self, waits_too(), waits_too()});
  REQUIRE(failed.verdicts.size() == 1);
  CHECK(failed.verdicts[0].reason == "rank 0 has given up: the group was aborted");
  CHECK(!decode_findings(encode(failed) + "x"));
}

TEST_CASE("a different operation of the same number is reported at once, with both") {
  const Observed other = observed(0s, 0s, "", {in_world(true, {reduce(17)})});
  CHECK(judged({waits_too(), other}, 1s) ==
        "the ranks issue different operations: rank 0 issued all_gather gather.block3 (number "
        "17), rank 2 issued all_to_all reduce.block3 (number 17)");
  // The same holds when that rank has moved on; operations with other numbers do not count.
  const Observed ahead = observed(0s, 0s, "", {in_world(false, {reduce(17), gather(18)})});
  CHECK(judged({waits_too(), ahead}, 1s).starts_with("the ranks issue different operations"));
  const Observed behind = observed(0s, 0s, "", {in_world(false, {reduce(15), reduce(16)})});
  CHECK(judged({waits_too(), behind}, 1s).empty());
  Call longer = gather(17);
  longer.bytes = 8;
  const Observed sizes = observed(0s, 0s, "", {in_world(true, {longer})});
  CHECK(judged({waits_too(), sizes}, 1s) ==
        "rank 0 and rank 2 disagree about the sizes of all_gather gather.block3 (number 17)");
}

TEST_CASE("a rank that has given up is not waited for") {
  Observed other = observed(0s, 0s, "", {in_world(false, {gather(17)})});
  other.report.groups[0].failed = "no answer from rank 2";
  CHECK(judged({other, waits_too()}, 1s) == "rank 1 has given up: no answer from rank 2");
}

TEST_CASE("a silent rank is named with its last op, however long this rank has waited") {
  const Observed silent = observed(21s, 21s, "block5.mlp", {in_world(false, {gather(16)})});
  CHECK(judged({silent, waits_too()}, 1s) ==
        "rank 1 has been silent for 21 s: it is stopped, or its machine or network failed; "
        "it was in block5.mlp");
  const Observed fresh = observed(19s, 19s, "block5.mlp", {in_world(false, {gather(16)})});
  CHECK(judged({fresh, waits_too()}).empty());
}

TEST_CASE("no rank makes progress: the rank that is in no collective is named") {
  const Observed busy = observed(1s, 25s, "block5.mlp", {in_world(false, {gather(16)})});
  CHECK(judged({waits_too(), busy}) ==
        "no rank has made progress for 30 s: rank 2 is behind: it is in block5.mlp");
  RankReport::InGroup other = in_world(true, {reduce(4)});
  other.group = "reduce/0/1";
  const Observed elsewhere =
      observed(1s, 25s, "block5.mlp", {in_world(false, {gather(16)}), other});
  CHECK(judged({elsewhere, busy}) ==
        "no rank has made progress for 30 s: rank 2 is behind: it is in block5.mlp");
  CHECK(judged({waits_too(), elsewhere}) ==
        "no rank has made progress for 30 s: rank 2 is behind: it is in block5.mlp, waiting in "
        "all_to_all "
        "reduce.block3 (number 4) of group reduce");
  CHECK(judged({waits_too(), waits_too()})
            .starts_with("no rank has made progress for 30 s: all ranks wait in this operation"));
}

TEST_CASE("a rank that makes progress, or is between programs, is waited for") {
  const Observed slow = observed(1s, 19s, "block5.mlp", {in_world(false, {gather(16)})});
  CHECK(judged({waits_too(), slow}, 3600s).empty());
  const Observed between = observed(1s, 25s, "", {in_world(false, {gather(16)})});
  CHECK(judged({waits_too(), between}).empty());
  const Observed busy = observed(1s, 25s, "block5.mlp", {in_world(false, {gather(16)})});
  CHECK(judged({waits_too(), busy}, 19s).empty());
}
