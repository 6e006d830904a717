// Simulation of 1,024 ranks: messages and time of the control word and of the hang guard.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/comm/mesh/combine_tree.h"
#include "engine/comm/mesh/coordinator.h"
#include "engine/comm/rank_report.h"
#include "engine/train/control_word.h"

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

constexpr int kRanks = 1024;

// A network of one card per rank: 10 us of latency and 2 us of processor time for each message, and
// 10 GB/s.
constexpr double kLatency = 10e-6, kPerMessage = 2e-6, kBytesPerSecond = 10e9;

struct Cost {
  std::int64_t messages = 0;  // of all ranks
  double seconds = 0;
};

// Runs the tree on all ranks; `counts[rank]` is how many ranks' values a rank has combined.
Cost combine_in_tree(int ranks, std::size_t bytes, std::vector<int>& counts) {
  Cost cost;
  counts.assign(static_cast<std::size_t>(ranks), 1);
  std::vector<int> depths(counts.size(), 0);
  for (int rank = ranks - 1; rank > 0; --rank) {
    const int parent = parent_of(rank), width = width_at(parent, ranks);
    REQUIRE(std::has_single_bit(static_cast<unsigned>(rank - parent)));
    REQUIRE(rank - parent < width);
    // What arrives begins where the parent's values end, once its earlier children have answered.
    REQUIRE(counts[static_cast<std::size_t>(rank)] <= width_at(rank, ranks));
    int& depth = depths[static_cast<std::size_t>(parent)];
    depth = std::max(depth, depths[static_cast<std::size_t>(rank)] + 1);
    counts[static_cast<std::size_t>(parent)] += counts[static_cast<std::size_t>(rank)];
    cost.messages += 2;  // up and down
  }
  const double each = kLatency + 2 * kPerMessage + static_cast<double>(bytes) / kBytesPerSecond;
  cost.seconds = 2 * std::bit_width(static_cast<unsigned>(ranks - 1)) * each;
  CHECK(depths[0] <= std::bit_width(static_cast<unsigned>(ranks - 1)));
  return cost;
}

Cost gather_straight(int ranks, std::size_t bytes) {
  const double each = 2 * kPerMessage + static_cast<double>(bytes) / kBytesPerSecond;
  return {.messages = std::int64_t{ranks} * (ranks - 1), .seconds = kLatency + (ranks - 1) * each};
}

// What the hang guards of all ranks ask of the coordinator in one beat, while all but one wait.
class Guards {
 public:
  explicit Guards(Clock::time_point begin) : coordinator_(kRanks, 20s, begin) {
    ByteWriter meeting = request_of(Request::meet);
    meeting.put(kGroup).put(kRanks + 0U).put(0U).put("");
    for (unsigned rank = 0; rank < kRanks; ++rank) meeting.put(rank);
    REQUIRE(coordinator_.answer(meeting.take(), begin));
  }
  void beat(Clock::time_point now) {
    ++beats_;
    for (int rank = 0; rank < kRanks; ++rank) {
      ByteWriter report = request_of(Request::report);
      report.put(static_cast<std::uint64_t>(rank)).put(encode(report_of(rank)));
      ++requests_;
      const auto findings = decode_findings(coordinator_.answer(report.take(), now).value());
      if (rank == kLaggard || findings.value().verdicts.empty()) continue;
      told_.insert(rank);
      reason_ = findings->verdicts.at(0).reason;
    }
  }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::size_t told() const { return told_.size(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  static constexpr int kLaggard = 517;
  static constexpr const char* kGroup = "world/0/1";
  static ByteWriter request_of(Request kind) {
    ByteWriter request;
    request.put(static_cast<std::uint64_t>(kind));
    return request;
  }
  RankReport report_of(int rank) const {
    const bool waits = rank != kLaggard;
    const Call call{.number = waits ? 17U : 16U, .operation = "all_gather", .about = "weights"};
    return {.progress = 5,
            .doing = waits ? "gather" : "block7.mlp",
            .groups = {
                {.group = kGroup, .waiting = waits, .waited = beats_ * 1000ms, .calls = {call}}}};
  }

  Coordinator coordinator_;
  std::set<int> told_;
  std::string reason_;
  std::int64_t requests_ = 0, beats_ = 0;
};

}  // namespace

TEST_CASE("the control word of 1,024 ranks takes 2 (N - 1) messages and a fraction of the time") {
  std::vector<int> counts;
  const Cost tree = combine_in_tree(kRanks, sizeof(ControlWord), counts);
  const Cost straight = gather_straight(kRanks, sizeof(ControlWord));
  MESSAGE("1,024 control words of ", sizeof(ControlWord), " bytes: by a tree ", tree.messages,
          " messages, ", tree.seconds * 1e3, " ms; straight ", straight.messages, " messages, ",
          straight.seconds * 1e3, " ms");
  CHECK(counts[0] == kRanks);
  CHECK(tree.messages == 2 * (kRanks - 1));
  CHECK(tree.seconds < straight.seconds / 4);
}

TEST_CASE("the tree combines every rank's value once, at any size") {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    std::vector<int> counts;
    combine_in_tree(ranks, 100, counts);
    CHECK(counts[0] == ranks);
  }
}

TEST_CASE("1,023 ranks that wait for one learn its name by one request a beat and rank") {
  const Clock::time_point begin{1h};
  Guards guards(begin);
  int beats = 0;
  for (; guards.told() < kRanks - 1 && beats < 60; ++beats) guards.beat(begin + beats * 1s);
  MESSAGE("1,024 ranks: ", guards.requests() / beats, " requests a second to rank 0; after ", beats,
          " s all are told");
  CHECK(guards.requests() == std::int64_t{kRanks} * beats);
  CHECK(beats <= 20 + 3);
  CHECK(guards.reason().ends_with(" s: rank 517 is behind: it is in block7.mlp"));
}
