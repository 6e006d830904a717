// Tests of each stage between the agents and the terminal, alone.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/logs/flow_control.h"
#include "launcher/logs/fold_stage.h"
#include "launcher/logs/node_clock.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/relay_stage.h"

namespace {

using namespace ds::launcher;
using ds::Clock;
using namespace std::chrono_literals;

/// The stage behind the one under test: "0:text" for each piece, "end" for finish().
struct Recorder final : OutputStage {
  void take(const Output& output) override {
    seen.push_back(std::to_string(output.rank) + ":" + std::string(text_of(output)));
  }
  void finish() override { seen.emplace_back("end"); }
  std::vector<std::string> seen;
};

using Seen = std::vector<std::string>;

Output piece(int rank, std::string_view text, std::uint8_t stream = 1) {
  return {.rank = rank, .stream = stream, .bytes = std::as_bytes(std::span(text))};
}

/// A Screen whose both streams are one file.
struct FileScreen {
  FileScreen() {
    char name[] = "/tmp/output_stages_XXXXXX";
    file.reset(::mkstemp(name));
    REQUIRE(file);
    path = name;
    screen.emplace(file.get(), file.get(), [] {});
  }
  ~FileScreen() { std::filesystem::remove(path); }
  FileScreen(const FileScreen&) = delete;
  FileScreen& operator=(const FileScreen&) = delete;
  std::string text() {
    while (!screen->written()) std::this_thread::yield();
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ds::UniqueFd file;
  std::string path;
  std::optional<Screen> screen;
};

RankPrefixes numbered(int ranks, std::string_view prefix = PrefixTemplate::kDefault) {
  RankPrefixes prefixes(PrefixTemplate::parse(prefix), false, false);
  std::vector<RankName> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back({.rank = rank});
  prefixes.set_names(names);
  return prefixes;
}

}  // namespace

TEST_CASE("flow control: a window once, then what arrives, then nothing while held") {
  std::vector<std::uint64_t> granted(2);
  int discards = 0;
  FlowControl flow(2, [&](int node, const Credit& credit) {
    granted[static_cast<std::size_t>(node)] += credit.bytes;
    if (credit.discard) ++discards;
  });
  flow.prepared(0);
  flow.prepared(0);
  flow.prepared(1);
  CHECK(granted[0] == CreditBook::kMost);
  CHECK_FALSE(flow.still_busy());
  flow.took(0, piece(3, "x"), CreditBook::kMost);
  CHECK(flow.still_busy());
  CHECK_FALSE(flow.still_busy());
  CHECK(granted[0] == 2 * CreditBook::kMost + kOutputHeaderBytes);
  flow.hold();
  flow.took(1, piece(3, "x"), CreditBook::kMost);
  CHECK(granted[1] == CreditBook::kMost);
  CHECK(flow.still_busy());
  CHECK(flow.still_busy());
  flow.discard();
  CHECK(discards == 2);
  flow.release();
  CHECK(granted[1] == 2 * CreditBook::kMost + kOutputHeaderBytes);
  CHECK_FALSE(FlowControl::uses_credit(piece(-1, "of the agent")));
}

TEST_CASE("backlog: keeps order, holds credit until all has been passed on, then the end") {
  FlowControl flow(1, [](int, const Credit&) {});
  Recorder next;
  std::size_t room = 2;
  Backlog backlog(
      flow, [&](bool) { return next.seen.size() >= room; }, next);
  backlog.take(piece(0, "a"));
  CHECK_FALSE(flow.held());
  backlog.take(piece(1, "b"));
  CHECK(flow.held());
  backlog.take(piece(0, "c"));
  backlog.take(own_line("d"));
  backlog.finish();
  CHECK(next.seen == Seen{"0:a", "1:b"});
  CHECK_FALSE(backlog.drained());
  room = 3;
  backlog.look();
  CHECK(next.seen == Seen{"0:a", "1:b", "0:c"});
  CHECK(flow.held());
  room = 100;
  backlog.look();
  CHECK(next.seen == Seen{"0:a", "1:b", "0:c", "-1:d", "end"});
  CHECK_FALSE(flow.held());
  CHECK(backlog.drained());
  backlog.take(own_line("after the end"));
  CHECK(next.seen.back() == "-1:after the end");
}

TEST_CASE("filter: passes the streams that are shown, and counts what a slow reader misses") {
  Recorder next;
  bool drops = false;
  ShowFilter filter({.shown = {3, 2, 0}, .drops = [&] { return drops; }, .elsewhere = "; see X"},
                    next);
  filter.take(piece(0, "a\n"));
  filter.take(piece(1, "hidden\n"));
  filter.take(piece(1, "err\n", 2));
  filter.take(piece(2, "hidden\n"));
  CHECK(next.seen == Seen{"0:a\n", "1:err\n"});
  CHECK(filter.bytes_since(0) == 4);
  CHECK(filter.bytes_since(1) == UINT64_MAX);
  drops = true;
  filter.take(piece(0, "b\nc\n"));
  filter.take(own_line("ours"));
  CHECK(next.seen == Seen{"0:a\n", "1:err\n", "-1:ours"});
  drops = false;
  filter.say_dropped();
  filter.finish();
  CHECK(next.seen == Seen{"0:a\n", "1:err\n", "-1:ours",
                          "-1:dslaunch: 2 lines were not shown: the reader was too slow; see X",
                          "end"});
}

TEST_CASE("log stage: a file for each rank, and everything goes on") {
  const std::string folder = "/tmp/output_stages_logs_" + std::to_string(::getpid());
  Recorder next;
  {
    LineClock clock;
    LogStage logs(
        {folder + "/0", folder + "/1"}, nullptr, [] {}, next);
    logs.take(piece(0, "a\n"));
    logs.take(own_line("ours"));
    logs.take(piece(1, "b\n"));
    logs.finish();
    while (!logs.written()) std::this_thread::yield();
    CHECK(logs.incomplete().files == 0);
    CHECK_FALSE(logs.is_behind(false));
  }
  CHECK(next.seen == Seen{"0:a\n", "-1:ours", "1:b\n", "end"});
  std::string zero, one;
  std::getline(std::ifstream(folder + "/0"), zero);
  std::getline(std::ifstream(folder + "/1"), one);
  CHECK(zero + one == "ab");
  std::filesystem::remove_all(folder);
}

TEST_CASE("relay stage: a single rank's bytes are unchanged unless it has a prefix") {
  FileScreen file;
  RelayStage relay(1, true, *file.screen);
  relay.take(piece(0, "no newline"));
  relay.finish();
  CHECK(file.text() == "no newline");
  relay.set_prefixes({"> ", "> "});
  relay.take(piece(0, "\nb"));
  relay.take(own_line("ours"));
  CHECK(file.text() == "no newline\n> b\nours\n");
}

TEST_CASE("relay stage: each piece can have the prefix of its time") {
  FileScreen file;
  RelayStage relay(2, true, *file.screen);
  const RankPrefixes prefixes = numbered(2, "{elapsed} {rank} ");
  LineClock clock;
  clock.start();
  relay.set_prefixes(prefixes.all(clock.of(clock.started())));
  relay.set_timed(prefixes, clock);
  Output late = piece(1, "x\n");
  late.time = clock_value(clock.started() + 1500ms);
  relay.take(late);
  CHECK(file.text() == "1.500 1 x\n");
}

TEST_CASE("fold stage: equal lines come out once, with their ranks") {
  FileScreen file;
  RelayStage relay(2, true, *file.screen);
  const RankPrefixes prefixes = numbered(2);
  const LineClock clock;
  relay.set_prefixes(prefixes.all(clock.of(clock.started())));
  FoldStage fold(prefixes, clock, relay);
  fold.start({3, 3});
  fold.take(piece(0, "same\n"));
  CHECK(fold.wake_at());
  fold.take(piece(1, "same\n"));
  fold.take(own_line("ours"));
  fold.take(piece(1, "late\n"));
  CHECK(file.text() == "[0-1] same\nours\n");
  fold.tick(Clock::now() + LineFold::kWindow);
  CHECK(file.text() == "[0-1] same\nours\n[1] late\n");
  fold.take(piece(0, "rest"));
  fold.finish();
  CHECK(file.text() == "[0-1] same\nours\n[1] late\n[0] rest\n");
}

TEST_CASE("fold stage: a last line without a newline is folded too") {
  FileScreen file;
  RelayStage relay(2, true, *file.screen);
  const RankPrefixes prefixes = numbered(2);
  const LineClock clock;
  FoldStage fold(prefixes, clock, relay);
  fold.start({3, 3});
  for (const int rank : {0, 1}) {
    fold.take(piece(rank, "line\n"));
    Output last = piece(rank, "same");
    last.flags = Output::kPartial | Output::kLast;
    fold.take(last);
  }
  fold.finish();
  CHECK(file.text() == "[0-1] line\n[0-1] same\n");
}

TEST_CASE("screen: says why it cannot be written, and is written once nobody waits") {
  const ds::UniqueFd full(::open("/dev/full", O_WRONLY));
  REQUIRE(full);
  Screen screen(full.get(), full.get(), [] {});
  CHECK_FALSE(screen.closed());
  screen.buffers().out.append("lost");
  screen.push();
  while (!screen.written()) std::this_thread::yield();
  CHECK(screen.closed() == "No space left on device");
  CHECK(screen.leave_slow_reader());
  CHECK_FALSE(screen.leave_slow_reader());
  CHECK_FALSE(screen.is_behind(true));
}

TEST_CASE("clocks: one for each agent, made when it is first asked for") {
  NodeClocks clocks;
  CHECK_FALSE(clocks.of(3).reading(1));
  const Clock::time_point now = Clock::now();
  clocks.of(1).greeted(clock_value(now) + 1000, now);
  CHECK(clocks.of(1).here(clock_value(now) + 1000, now) == now);
  CHECK_FALSE(clocks.of(0).reading(1));
}
