// Tests the agent's ends of rank channels against real clients, and against ranks that break the
// rules.
#include "launcher/agent/rank_channels.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/rank_channel.h"
#include "engine/base/rank_socket.h"

using namespace ds::launcher;
using namespace std::chrono_literals;
using ds::Deadline;
using ds::KeptFile;
using ds::RankChannel;
using ds::UniqueFd;

namespace {

const ds::Clock::time_point kStart{1h};

KeptFile kept_file(const std::string& name, const std::string& text) {
  KeptFile file{name, static_cast<std::int64_t>(text.size()),
                UniqueFd(::memfd_create("test", MFD_CLOEXEC))};
  REQUIRE(::write(file.fd.get(), text.data(), text.size()) == file.bytes);
  return file;
}

std::string text_of(const KeptFile& file) {
  std::string text(static_cast<std::size_t>(file.bytes), '\0');
  const ssize_t got = ::pread(file.fd.get(), text.data(), text.size(), 0);
  return got == file.bytes ? text : "unreadable";
}

/// A node whose ranks come and go with epochs.
struct ChannelNode {
  /// Returns the ends of the ranks.
  std::vector<UniqueFd> begin(std::uint32_t epoch, std::int32_t ranks) {
    std::vector<RankChannels::End> ends;
    std::vector<UniqueFd> theirs;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      ChannelPair pair = make_channel_pair();
      ends.push_back({rank, std::move(pair.ours)});
      theirs.push_back(std::move(pair.theirs));
    }
    channels = RankChannels(std::move(ends), epoch);
    return theirs;
  }
  void turn(int wait_ms = 0) {
    std::vector<pollfd> polled;
    channels.add_polls(polled);
    ::poll(polled.data(), polled.size(), wait_ms);
    channels.turn(polled, store, now);
  }
  /// Answers while `rank` asks for all files.
  std::vector<KeptFile> kept(RankChannel& rank) {
    std::vector<KeptFile> files;
    std::atomic<bool> done{false};
    std::jthread asks([&] {
      files = rank.kept(Deadline::after(30s));
      done = true;
    });
    while (!done) turn(1);
    asks.join();
    return files;
  }
  std::vector<RankNews> news() {
    std::vector<RankNews> all;
    for (const Message& message : channels.take_messages(now))
      all.push_back(std::get<RankNews>(message));
    return all;
  }

  RankChannels channels;
  KeptStore store;
  ds::Clock::time_point now = kStart;
};

}  // namespace

TEST_CASE("files survive the ranks that have handed them in") {
  ChannelNode node;
  {
    auto ends = node.begin(1, 2);
    RankChannel first(std::move(ends[0])), second(std::move(ends[1]));
    first.keep(kept_file("own.0", "share of rank 0"));
    second.keep(kept_file("own.1", "share of rank 1"));
    second.keep(kept_file("old", "x"));
    second.drop("old");
    node.turn();
  }
  node.channels = RankChannels();
  auto ends = node.begin(2, 1);
  RankChannel only(std::move(ends[0]));
  auto files = node.kept(only);
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "own.0");
  CHECK(text_of(files[0]) == "share of rank 0");
  CHECK(text_of(files[1]) == "share of rank 1");
  only.keep(kept_file("new", "y"));
  only.drop_earlier_epochs();
  files = node.kept(only);
  REQUIRE(files.size() == 1);
  CHECK(files[0].name == "new");
}

TEST_CASE("what a rank handed in just before its death is held") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  {
    RankChannel rank(std::move(ends[0]));
    rank.tell_step(7, 9, 0.001, 6);
    for (int i = 0; i < 64; ++i) rank.keep(kept_file("f" + std::to_string(i), "x"));
    rank.tell_step(8, 9, 0.001, 7);
  }
  node.channels.ended(0, node.store, node.now);
  CHECK(node.store.files().size() == 64);
  const auto news = node.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].step == 8);
  CHECK(news[0].kept == 7);
}

TEST_CASE("a rank learns whether each of its files is held") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  const auto reply = [&](const std::string& text, int fd) {
    REQUIRE(ds::send_datagram(ends[0].get(), text, fd) == ds::Sent::yes);
    node.turn();
    return ds::receive_datagram(ends[0].get()).text;
  };
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  CHECK(reply("keep 1 a", file.get()) == "held a");
  CHECK(reply("keep 1 b", -1) == "not_held b file b came without a descriptor; see `ulimit -n`");
  for (std::size_t i = 1; i < KeptStore::kMaxOfRank; ++i)
    CHECK(reply("keep 1 f" + std::to_string(i), file.get()) == "held f" + std::to_string(i));
  CHECK(reply("keep 1 c", file.get()) ==
        "not_held c file c is one more than the 64 that a rank may keep");
}

TEST_CASE("many files are sent in parts to a rank that reads slowly") {
  ChannelNode node;
  auto ends = node.begin(1, 16);
  std::vector<std::unique_ptr<RankChannel>> ranks;
  for (UniqueFd& end : ends) ranks.push_back(std::make_unique<RankChannel>(std::move(end)));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (int i = 0; i < 60; ++i)
      ranks[rank]->keep(kept_file("r" + std::to_string(rank) + "." + std::to_string(i), "x"));
    node.turn();
  }
  REQUIRE(node.store.files().size() == 16 * 60);
  CHECK(node.kept(*ranks[3]).size() == 16 * 60);
}

TEST_CASE("steps are told once a period, and do not delay phases and lines, which are, too") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  const auto tell = [&](const std::string& text) {
    REQUIRE(ds::send_datagram(ends[0].get(), text) == ds::Sent::yes);
    node.turn();
  };
  CHECK(node.channels.wake_at() == ds::Clock::time_point::max());
  tell("step 1 40 500000 -1");
  auto news = node.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].step == 1);
  CHECK(news[0].steps == 40);
  CHECK(news[0].micros == 500'000);
  CHECK(news[0].phases.empty());
  tell("step 2 40 500000 1");
  CHECK(node.news().empty());
  CHECK(node.channels.wake_at() == kStart + NewsOfRank::kPeriod);

  tell("phase loaded");
  news = node.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].step == 2);
  CHECK(news[0].kept == 1);
  REQUIRE(news[0].phases.size() == 1);
  CHECK(news[0].phases[0] == RankNews::Phase{"loaded", clock_value(kStart)});
  tell("checkpoint checkpoint: step 2 failed: full");
  CHECK(node.news().empty());
  node.now = node.channels.wake_at();
  CHECK(node.now == kStart + NewsOfRank::kPeriod);
  news = node.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].phases.empty());
  CHECK(news[0].checkpoints == std::vector<std::string>{"checkpoint: step 2 failed: full"});
  CHECK(node.news().empty());
  CHECK(node.channels.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("orders reach one rank or all") {
  ChannelNode node;
  auto ends = node.begin(1, 2);
  RankChannel first(std::move(ends[0])), second(std::move(ends[1]));
  node.channels.order({.rank = 1, .order = OrderRank::Order::save}, node.store);
  node.channels.order({.rank = -1, .order = OrderRank::Order::pause}, node.store);
  const ds::RankOrders of_first = first.take_orders(), of_second = second.take_orders();
  CHECK(of_first.saves == 0);
  CHECK(of_first.pause);
  CHECK(of_second.saves == 1);
  CHECK(of_second.pause);
}

TEST_CASE("orders for a rank that does not read take no memory, and one of each kind is not lost") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  for (int i = 0; i < 10'000; ++i)
    node.channels.order({.rank = 0, .order = OrderRank::Order::save}, node.store);
  node.channels.order({.rank = 0, .order = OrderRank::Order::pause}, node.store);
  int datagrams = 0;
  bool paused = false;
  while (!paused && datagrams < 10'000) {
    const ds::Datagram datagram = ds::receive_datagram(ends[0].get());
    REQUIRE_FALSE(datagram.ended);
    if (datagram.kind == ds::Datagram::Kind::none) {
      node.turn();
      continue;
    }
    ++datagrams;
    paused = datagram.text == "pause";
  }
  CHECK(paused);
  CHECK(datagrams < 10'000);
}

TEST_CASE("a rank that floods the channel has limits") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  const auto send = [&](const std::string& text) {
    while (ds::send_datagram(ends[0].get(), text, file.get()) == ds::Sent::not_now) node.turn();
  };
  for (int i = 0; i < 1000; ++i) {
    send("keep 1 f" + std::to_string(i));
    send("phase p" + std::to_string(i));
    send("checkpoint line");
    send("kept? " + std::to_string(i));
    send("nonsense");
    send(std::string(ds::kMaxRankMessage, 'x'));
    // The answers are not read.
  }
  node.turn();
  CHECK(node.store.files().size() == KeptStore::kMaxOfRank);
  CHECK(node.channels.take_lines().size() == 1);
  const auto news = node.news();
  REQUIRE(news.size() == 1);
  CHECK(news[0].phases.size() == NewsOfRank::kMaxWaiting);
  CHECK(news[0].checkpoints.size() == NewsOfRank::kMaxWaiting);
}

TEST_CASE("a rank without its channel, and a node without channels") {
  ChannelNode node;
  auto ends = node.begin(1, 1);
  ends[0].reset();
  node.turn();
  node.channels.order({}, node.store);
  node.channels.ended(0, node.store, node.now);
  node.channels.ended(5, node.store, node.now);
  CHECK(node.news().empty());
  std::vector<pollfd> polled;
  RankChannels().add_polls(polled);
  CHECK(polled.empty());
}
