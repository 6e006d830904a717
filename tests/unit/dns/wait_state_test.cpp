// Tests of waiting for hosts: when each host is checked, and the lines, table and hint.
#include "launcher/dns/wait_state.h"

#include <doctest/doctest.h>

#include <algorithm>

using ds::Clock;
using namespace ds::launcher;
using namespace std::chrono_literals;
using Indexes = std::vector<std::size_t>;

namespace {

const Clock::time_point kStart{};

WaitState waiting(std::vector<std::string> names, WaitLimits limits = {}) {
  return {std::move(names), limits, [] { return 0.5; }, kStart};
}

HostLook no_record() {
  return {WaitStage::no_record, "no DNS record (NXDOMAIN from 10.96.0.10)", {}, {}};
}
HostLook refused(const std::string& address) {
  return {
      WaitStage::no_connection,
      "has a DNS record, but no TCP connection to port 22 (Connection refused)",
      "has a DNS record, but no TCP connection to port 22 (" + address + ": Connection refused)",
      {}};
}

std::vector<std::string> pods(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("gpt-" + std::to_string(i) + ".gpt");
  return names;
}

}  // namespace

TEST_CASE("a host is checked on the schedule until it is ready") {
  WaitState state = waiting({"gpt-0.gpt"});
  std::vector<Clock::duration> looks;
  for (Clock::duration at{}; looks.size() < 7; at = state.wake_at() - kStart) {
    state.take_news(kStart + at);
    if (state.take_due(kStart + at).empty()) continue;
    looks.push_back(at);
    state.on_missing(0, no_record(), kStart + at);
  }
  CHECK(looks == std::vector<Clock::duration>{0s, 500ms, 1s, 2s, 7s, 12s, 17s});
  CHECK_FALSE(state.all_ready());
  CHECK(state.take_due(kStart + 22s) == Indexes{0});
  state.on_ready(0);
  CHECK(state.all_ready());
  CHECK(state.take_due(kStart + 30s).empty());
}

TEST_CASE("a host whose check is under way is not checked again") {
  WaitState state = waiting({"a", "b"});
  CHECK(state.take_due(kStart) == Indexes{0, 1});
  CHECK(state.take_due(kStart + 60s).empty());
}

TEST_CASE("at most at_once checks run; hosts that have waited longest come first") {
  WaitState state = waiting(pods(5), {.at_once = 2});
  CHECK(state.take_due(kStart) == Indexes{0, 1});
  CHECK(state.take_due(kStart).empty());
  CHECK(state.wake_at() == kStart + 10s);
  state.on_missing(0, no_record(), kStart);
  CHECK(state.take_due(kStart + 600ms) == Indexes{2});
  state.on_ready(1);
  state.on_ready(2);
  CHECK(state.take_due(kStart + 700ms) == Indexes{3, 4});
  state.on_ready(3);
  CHECK(state.take_due(kStart + 700ms) == Indexes{0});
}

TEST_CASE("a thousand hosts that never come are checked 123 times each in 600 s") {
  WaitState state = waiting(pods(1000));
  std::size_t looks = 0;
  Clock::time_point now = kStart;
  while (!state.over(now)) {
    state.take_news(now);
    for (const std::size_t host : state.take_due(now)) {
      ++looks;
      state.on_missing(host, no_record(), now);
    }
    now = std::max(now, state.wake_at());
  }
  CHECK(looks == 1000 * 123);  // 0, 0.5, 1, 2, 7, ... 597 s
}

TEST_CASE("the line every 10 s has folded names, grouped by stage and reason") {
  WaitState state = waiting(pods(64));
  state.take_due(kStart);
  for (std::size_t i = 0; i < 64; ++i) {
    if (i < 3) state.on_missing(i, no_record(), kStart);
    if (i == 3) state.on_missing(i, refused("10.0.0.3"), kStart);
    if (i == 7) state.on_missing(i, refused("10.0.0.7"), kStart);
    if (i > 7) state.on_ready(i);
  }
  CHECK_FALSE(state.take_news(kStart + 9999ms));
  CHECK(state.take_news(kStart + 10s).value() ==
        "waiting for 8 of 64 hosts (10 s): gpt-[4-6].gpt: not looked up yet; "
        "gpt-[0-2].gpt: no DNS record (NXDOMAIN from 10.96.0.10); "
        "gpt-[3,7].gpt: has a DNS record, but no TCP connection to port 22 (Connection refused)");
  CHECK_FALSE(state.take_news(kStart + 19s));
  CHECK(state.take_news(kStart + 45s));
  CHECK_FALSE(state.take_news(kStart + 49s));
  CHECK(state.take_news(kStart + 50s));
}

TEST_CASE("the table at the limit names every missing host with its stage") {
  WaitState state = waiting({"gpt-0.gpt", "gpt-10.gpt", "gpt-2.gpt"}, {.limit = 90s});
  state.take_due(kStart);
  state.on_missing(0, refused("10.0.0.3"), kStart);
  state.on_missing(1, no_record(), kStart);
  state.on_ready(2);
  CHECK_FALSE(state.over(kStart + 89s));
  CHECK(state.over(kStart + 90s));
  CHECK(state.table() ==
        "2 of 3 hosts did not answer within 90 s\n"
        "  gpt-0.gpt   has a DNS record, but no TCP connection to port 22 (10.0.0.3: Connection "
        "refused) (1 lookup)\n"
        "  gpt-10.gpt  no DNS record (NXDOMAIN from 10.96.0.10) (1 lookup)");
  CHECK(state.hint().find("publishNotReadyAddresses") != std::string::npos);
}

TEST_CASE("the table of very many hosts is folded") {
  WaitState state = waiting(pods(100));
  state.take_due(kStart);
  for (std::size_t i = 0; i < 64; ++i) state.on_missing(i, no_record(), kStart);
  CHECK(state.table() ==
        "100 of 100 hosts did not answer within 600 s\n"
        "  gpt-[64-99].gpt (36): not looked up yet\n"
        "  gpt-[0-63].gpt (64): no DNS record (NXDOMAIN from 10.96.0.10)");
}

TEST_CASE("the hint is about the least advanced host") {
  WaitState state = waiting({"a", "b"});
  state.take_due(kStart);
  state.on_missing(0, refused("10.0.0.3"), kStart);
  state.on_missing(1, {WaitStage::dns_failed, "SERVFAIL from 10.96.0.10", {}, {}}, kStart);
  CHECK(state.hint().find("resolv.conf") != std::string::npos);
  state.take_due(kStart + 1s);
  state.on_missing(1, refused("10.0.0.4"), kStart);
  CHECK(state.hint().find("sshd") != std::string::npos);
}

TEST_CASE("in a cluster no host is looked up before its record can be there") {
  WaitState state = waiting({"a", "b"}, {.first_look = kClusterFirstLook});
  CHECK(state.take_due(kStart).empty());
  CHECK(state.wake_at() == kStart + kClusterFirstLook);
  CHECK(state.take_due(kStart + kClusterFirstLook - 1ms).empty());
  CHECK(state.take_due(kStart + kClusterFirstLook).size() == 2);
}
