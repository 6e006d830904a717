// Tests the rank's end of the rank channel against a socket pair whose other end is this test.
#include "engine/base/rank_channel.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/rank_message.h"
#include "engine/base/rank_socket.h"

using namespace ds;
using namespace std::chrono_literals;

namespace {

struct Pair {
  Pair() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    agent.reset(ends[0]);
    rank.reset(ends[1]);
  }
  /// Returns the next message; "" if there is none, "end" after the end.
  [[nodiscard]] std::string next(UniqueFd* fd = nullptr) const {
    Datagram datagram = receive_datagram(agent.get());
    if (datagram.ended) return "end";
    if (fd != nullptr) *fd = std::move(datagram.fd);
    return datagram.text;
  }
  void send(const RankMessage& message, int fd = -1) const {
    REQUIRE(send_datagram(agent.get(), encode(message), fd) == Sent::yes);
  }
  /// Fills the socket towards the agent; returns the number of messages.
  [[nodiscard]] int fill() const {
    int count = 0;
    while (send_datagram(rank.get(), "x") == Sent::yes) ++count;
    return count;
  }
  UniqueFd agent, rank;
};

UniqueFd memory_file(const std::string& text) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return fd;
}

std::string content_of(int fd) {
  char bytes[100];
  const ssize_t got = ::pread(fd, bytes, sizeof bytes, 0);
  return got < 0 ? "unreadable" : std::string(bytes, static_cast<std::size_t>(got));
}

KeptFile kept_file(const std::string& name, const std::string& text) {
  return {name, static_cast<std::int64_t>(text.size()), memory_file(text)};
}

}  // namespace

TEST_CASE("what a rank tells arrives as one datagram each") {
  Pair pair;
  RankChannel channel(std::move(pair.rank));
  channel.tell_phase("met");
  channel.tell_step(1, 40, 0.0815, -1);
  channel.tell_checkpoint("checkpoint: step 1 failed: full");
  channel.drop("own.0");
  channel.drop_earlier_epochs();
  CHECK(pair.next() == "phase met");
  CHECK(pair.next() == "step 1 40 81500 -1");
  CHECK(pair.next() == "checkpoint checkpoint: step 1 failed: full");
  CHECK(pair.next() == "drop own.0");
  CHECK(pair.next() == "drop_earlier");
  CHECK(pair.next().empty());
}

TEST_CASE("of fast steps the first and the last are told") {
  Pair pair;
  {
    RankChannel channel(std::move(pair.rank));
    for (int step = 1; step <= 9; ++step) channel.tell_step(step, 9, 0, step - 1);
    CHECK(pair.next() == "step 1 9 0 0");
    CHECK(pair.next().empty());
    channel.tell_phase("over");  // never overtakes a step
    CHECK(pair.next() == "step 9 9 0 8");
    channel.tell_step(10, 10, 0, 9);
  }
  CHECK(pair.next() == "phase over");
  CHECK(pair.next() == "step 10 10 0 9");
  CHECK(pair.next() == "end");
}

TEST_CASE("a kept file travels as a descriptor") {
  Pair pair;
  RankChannel channel(std::move(pair.rank));
  channel.keep(kept_file("own.1", "state"));
  UniqueFd fd;
  CHECK(pair.next(&fd) == "keep 5 own.1");
  REQUIRE(fd);
  CHECK(content_of(fd.get()) == "state");
  CHECK((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a file counts as held only when the agent says so") {
  Pair pair;
  RankChannel channel(std::move(pair.rank));
  channel.keep(kept_file("own.0", "a"));
  const auto why = [&](const std::string& name) -> std::string {
    try {
      channel.await_held(name, Deadline::after(0s));
      return {};
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::system);
      return error.what();
    }
  };
  CHECK(why("own.0") == "the agent of this node does not hold own.0: it has not answered");
  pair.send(FileHeld{"never.seen"});
  pair.send(FileHeld{"own.0"});
  pair.send(SaveOrder{});
  CHECK(why("own.0").empty());
  CHECK(channel.take_orders().saves == 1);
  channel.keep(kept_file("own.0", "b"));  // replaced: the old answer does not count
  CHECK(why("own.0") == "the agent of this node does not hold own.0: it has not answered");
  pair.send(FileRefused{"own.0", "one too many"});
  CHECK(why("own.0") == "the agent of this node does not hold own.0: one too many");
  channel.keep(kept_file("own.1", "c"));
  pair.agent.reset();
  CHECK(why("own.1") == "the agent of this node does not hold own.1: it has ended");
}

TEST_CASE("messages that find no room are sent later, in order, with their descriptors") {
  Pair pair;
  const int filled = pair.fill();
  REQUIRE(filled > 0);
  RankChannel channel(std::move(pair.rank));
  channel.tell_phase("prepared");
  channel.keep(kept_file("own.0", "a"));
  channel.tell_phase("met");
  channel.tell_step(7, 8, 0, 6);
  channel.tell_step(8, 8, 0, 7);
  for (int i = 0; i < filled; ++i) CHECK(pair.next() == "x");
  CHECK(pair.next().empty());
  channel.drop("own.0");
  UniqueFd fd;
  CHECK(pair.next() == "phase prepared");
  CHECK(pair.next(&fd) == "keep 1 own.0");
  CHECK(content_of(fd.get()) == "a");
  CHECK(pair.next() == "phase met");
  CHECK(pair.next() == "step 8 8 0 7");
  CHECK(pair.next() == "drop own.0");
}

TEST_CASE("a full channel holds a bounded number of messages") {
  Pair pair;
  const int filled = pair.fill();
  RankChannel channel(std::move(pair.rank));
  for (int i = 0; i < 1000; ++i) channel.tell_checkpoint("line");
  for (int i = 0; i < filled; ++i) CHECK(pair.next() == "x");
  int came = 0;
  for (bool more = true; more;) {
    channel.take_orders();
    more = false;
    while (!pair.next().empty()) ++came, more = true;
  }
  CHECK(came > 0);
  CHECK(came <= 256);
}

TEST_CASE("orders are counted and taken once") {
  Pair pair;
  RankChannel channel(std::move(pair.rank));
  CHECK(channel.take_orders().saves == 0);
  pair.send(SaveOrder{});
  pair.send(SaveOrder{});
  pair.send(PauseOrder{});
  REQUIRE(send_datagram(pair.agent.get(), "an order of a later version") == Sent::yes);
  const RankOrders orders = channel.take_orders();
  CHECK(orders.saves == 2);
  CHECK(orders.pause);
  CHECK(channel.take_orders().saves == 0);
  CHECK_FALSE(channel.take_orders().pause);
}

TEST_CASE("the kept files come back, and orders meanwhile are not lost") {
  Pair pair;
  const std::string text = "share";
  const UniqueFd file = memory_file(text);
  // The answer is in the socket before the question: its id is known.
  pair.send(FileKept{.id = 7, .bytes = 1, .name = "of.an.older.question"}, file.get());
  pair.send(FileKept{.id = 1, .bytes = 5, .name = "own.0"}, file.get());
  pair.send(SaveOrder{});
  pair.send(FileKept{.id = 1, .bytes = 9, .name = "ward.0"}, file.get());
  pair.send(KeptEnd{.id = 1, .files = 2});
  RankChannel channel(std::move(pair.rank));
  const std::vector<KeptFile> files = channel.kept(Deadline::after(10s));
  CHECK(pair.next() == "kept? 1");
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "own.0");
  CHECK(files[0].bytes == 5);
  CHECK(content_of(files[1].fd.get()) == text);
  CHECK(files[1].name == "ward.0");
  CHECK(channel.take_orders().saves == 1);
}

TEST_CASE("kept() ends at its deadline, and when the agent is gone") {
  Pair pair;
  RankChannel channel(std::move(pair.rank));
  CHECK_THROWS_AS(channel.kept(Deadline::after(0s)), Error);
  pair.send(KeptEnd{.id = 2, .files = 1});
  CHECK_THROWS_AS(channel.kept(Deadline::after(10s)), Error);  // a file is missing
  std::jthread ends([&] { pair.agent.reset(); });
  CHECK(channel.kept(Deadline::after(10s)).empty());
  channel.tell_phase("over");
  channel.tell_step(1, 1, 0, 0);
  channel.keep(kept_file("own.0", "a"));
  CHECK(channel.kept(Deadline::after(10s)).empty());
  CHECK(channel.take_orders().saves == 0);
}

TEST_CASE("a datagram that is too long is lost, and of many descriptors one is taken") {
  Pair pair;
  REQUIRE(::send(pair.rank.get(), std::string(kMaxRankMessage + 1, 'x').data(), kMaxRankMessage + 1,
                 0) > 0);
  CHECK(receive_datagram(pair.agent.get()).kind == Datagram::Kind::too_long);
  // Descriptors in flight: dup() shows the lowest free number before and after.
  const UniqueFd file = memory_file("a");
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(5 * sizeof(int))];
  } space{};
  space.header.cmsg_len = CMSG_LEN(5 * sizeof(int));
  space.header.cmsg_level = SOL_SOCKET;
  space.header.cmsg_type = SCM_RIGHTS;
  for (int i = 0; i < 5; ++i) reinterpret_cast<int*>(CMSG_DATA(&space.header))[i] = file.get();
  char word[] = "keep 1 a";
  iovec part{word, sizeof word - 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = sizeof space;
  REQUIRE(::sendmsg(pair.rank.get(), &message, 0) > 0);
  const int lowest = UniqueFd(::dup(0)).get();
  Datagram datagram = receive_datagram(pair.agent.get());
  CHECK(datagram.text == "keep 1 a");
  CHECK(datagram.fd.get() == lowest);
  datagram.fd.reset();
  CHECK(UniqueFd(::dup(0)).get() == lowest);
}

TEST_CASE("the variable names the descriptor, which no program inherits") {
  Pair pair;
  ::fcntl(pair.rank.get(), F_SETFD, 0);
  ::setenv(contract::kRankChannel, std::to_string(pair.rank.get()).c_str(), 1);
  const auto channel = RankChannel::from_environment();
  REQUIRE(channel);
  CHECK(::getenv(contract::kRankChannel) == nullptr);
  CHECK((::fcntl(pair.rank.get(), F_GETFD) & FD_CLOEXEC) != 0);
  (void)pair.rank.release();
  channel->tell_phase("met");
  CHECK(pair.next() == "phase met");
}

TEST_CASE("a variable that names nothing of use is ignored") {
  CHECK_FALSE(RankChannel::from_environment());
  const UniqueFd file = memory_file("a");
  for (const std::string& text :
       {std::string("x"), std::string("0"), std::string("99999"), std::to_string(file.get())}) {
    ::setenv(contract::kRankChannel, text.c_str(), 1);
    CHECK_FALSE(RankChannel::from_environment());
    CHECK(::getenv(contract::kRankChannel) == nullptr);
  }
}
