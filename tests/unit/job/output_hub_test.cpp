// Tests of OutputHub with a late reader: bounded by credit, complete and in order.
#include "launcher/job/output_hub.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <asio/executor_work_guard.hpp>
#include <string>
#include <thread>

#include "engine/base/unique_fd.h"
#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;

struct Pipe {
  Pipe() {
    int made[2];
    REQUIRE(::pipe(made) == 0);
    read_end.reset(made[0]);
    write_end.reset(made[1]);
  }
  ds::UniqueFd read_end, write_end;
};

std::string read_all(int fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

}  // namespace

TEST_CASE("that output was lost is said before all is written, also at the very end") {
  asio::io_context io(1);
  const ds::UniqueFd full(::open("/dev/full", O_WRONLY));
  REQUIRE(full);
  const LogPolicy policy;
  const Placement placement = placement_of(1, 1);
  std::string events;
  OutputHub hub(io,
                {.placement = placement,
                 .policy = policy,
                 .job_id = "1",
                 .out_fd = full.get(),
                 .err_fd = full.get()},
                {.on_credit = [](int, const Credit&) {},
                 .on_closed = [&](const std::string& reason) { events += reason + ", "; },
                 .on_written =
                     [&] {
                       events += "written";
                       io.stop();
                     }});
  hub.start(placement, {"host"});
  const std::string text = "lost\n";
  hub.take(0, {.rank = 0, .bytes = std::as_bytes(std::span(text))});
  hub.finish();  // before the queue's thread may have tried
  const auto work = asio::make_work_guard(io);
  io.run();
  CHECK(events.starts_with("No space left on device, "));
  CHECK(events.ends_with(", written"));
}

TEST_CASE("output that nobody reads waits as it came, within the credit, and in order") {
  constexpr int kNodes = 64;
  asio::io_context io(1);
  Pipe out;
  const LogPolicy policy;
  const Placement placement = placement_of(kNodes, 1);
  std::vector<std::uint64_t> credit(kNodes);
  bool written = false;
  OutputHub hub(io,
                {.placement = placement,
                 .policy = policy,
                 .job_id = "1",
                 .out_fd = out.write_end.get(),
                 .err_fd = out.write_end.get()},
                {.on_credit =
                     [&](int agent, const Credit& grant) {
                       credit[static_cast<std::size_t>(agent)] += grant.bytes;
                     },
                 .on_closed = [](const std::string&) {},
                 .on_written =
                     [&] {
                       written = true;
                       io.stop();
                     }});
  for (int agent = 0; agent < kNodes; ++agent) hub.prepared(agent);
  hub.start(placement, std::vector<std::string>(kNodes, "host"));

  // Each sends short lines for as long as it may.
  std::string text;
  for (int line = 0; line < 4000; ++line) text += "abcd\n";
  const std::uint64_t cost = kOutputHeaderBytes + text.size();
  std::vector<int> frames;  // their ranks
  for (bool some = true; some;) {
    some = false;
    for (int agent = 0; agent < kNodes; ++agent) {
      std::uint64_t& left = credit[static_cast<std::size_t>(agent)];
      if (left < cost) continue;
      left -= cost;
      some = true;
      frames.push_back(agent);
      hub.take(agent, {.rank = agent, .bytes = std::as_bytes(std::span(text))});
    }
    REQUIRE(frames.size() * cost < 4 * CreditBook::kTotal);
  }
  CHECK(hub.still_busy());
  hub.say("the last word");
  hub.finish();

  std::string seen;
  std::thread reader([&] { seen = read_all(out.read_end.get()); });
  const auto work = asio::make_work_guard(io);
  io.run();
  out.write_end.reset();
  reader.join();
  CHECK(written);
  std::string expected;
  for (const int rank : frames)
    for (int line = 0; line < 4000; ++line) expected += "[" + std::to_string(rank) + "] abcd\n";
  expected += "the last word\n";
  CHECK(seen.size() == expected.size());
  CHECK((seen == expected));
}
