// Tests of Coordinator: meetings, first faults, reports, malformed requests.
#include "engine/comm/mesh/coordinator.h"

#include <doctest/doctest.h>

#include <string>

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

const Clock::time_point kStart{1h};

ByteWriter request(Request kind) {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(kind));
  return out;
}

std::string meeting(const std::string& mesh, std::uint64_t size, std::uint64_t place,
                    const std::string& card) {
  return request(Request::meet).put(mesh).put(size).put(place).put(card).take();
}

std::string fault(const std::string& mesh, const std::string& why) {
  return request(Request::fault).put(mesh).put(why).take();
}

std::string report_of(std::uint64_t rank, const RankReport& report) {
  return request(Request::report).put(rank).put(encode(report)).take();
}

}  // namespace

TEST_CASE("members that meet learn who is absent, then get all cards") {
  Coordinator coordinator(3, 20s, kStart);
  CHECK(coordinator.answer(meeting("world", 3, 1, "b"), kStart) ==
        ByteWriter().put(2U).put(0U).put(2U).take());
  CHECK(coordinator.answer(meeting("world", 3, 1, "b"), kStart) ==
        ByteWriter().put(2U).put(0U).put(2U).take());
  coordinator.answer(meeting("other", 3, 0, "x"), kStart);
  coordinator.answer(meeting("world", 3, 0, "a"), kStart);
  const std::string all = ByteWriter().put(0U).put("a").put("b").put("c").take();
  CHECK(coordinator.answer(meeting("world", 3, 2, "c"), kStart) == all);
  CHECK(coordinator.answer(meeting("world", 3, 0, "a"), kStart) == all);
}

TEST_CASE("the first fault of a group is the answer to all") {
  Coordinator coordinator(2, 20s, kStart);
  CHECK(coordinator.answer(fault("world", "rank 1 left"), kStart) == "rank 1 left");
  CHECK(coordinator.answer(fault("world", "rank 0 left"), kStart) == "rank 1 left");
  CHECK(coordinator.answer(fault("gather", "other"), kStart) == "other");
}

TEST_CASE("a rank that does not report is found; time without any request was a suspension") {
  Coordinator coordinator(2, 20s, kStart);
  coordinator.answer(ByteWriter(request(Request::meet))
                         .put("world")
                         .put(2U)
                         .put(0U)
                         .put("")
                         .put(0U)
                         .put(1U)
                         .take(),
                     kStart);
  RankReport waits{.progress = 1, .doing = "gather", .groups = {}};
  waits.groups = {{.group = "world",
                   .waiting = true,
                   .waited = 1s,
                   .calls = {{.number = 1, .operation = "all_gather"}}}};
  Clock::time_point now = kStart;
  const auto found = [&](int seconds) {
    std::string last;
    for (int i = 0; i < seconds; ++i)
      last = coordinator.answer(report_of(0, waits), now += 1s).value();
    const auto verdicts = decode_findings(last).value().verdicts;
    return verdicts.empty() ? "" : verdicts[0].reason;
  };
  CHECK(found(18).empty());
  now += 1h;
  CHECK(found(1).empty());
  CHECK(found(2).starts_with("rank 1 has been silent for 2"));
}

TEST_CASE("malformed requests are not answered") {
  Coordinator coordinator(2, 20s, kStart);
  for (const std::string& bytes :
       {std::string(), std::string("x"), request(Request::meet).take(), meeting("w", 3, 0, ""),
        meeting("w", 2, 2, ""), meeting("w", 2, 0, "") + "x",
        meeting("w", 2, 0, "") + ByteWriter().put(2U).take(), fault("w", "") + "x",
        request(Request::report).put(2U).put(encode(RankReport())).take(),
        request(Request::report).put(0U).put("x").take(), ByteWriter().put(9U).take()}) {
    CHECK_FALSE(coordinator.answer(bytes, kStart));
  }
  CHECK(coordinator.answer(report_of(1, RankReport()), kStart));
  int kept = 0;
  while (kept < 20'000 && coordinator.answer(fault(std::to_string(kept), "x"), kStart)) ++kept;
  CHECK(kept < 20'000);
  CHECK(coordinator.answer(fault("0", "y"), kStart) == "x");
}
