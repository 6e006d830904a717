// Tests of Link and PeerMemory: data, offers, refused and revoked offers, messages that are not
// accepted.
#include "engine/comm/mesh/link.h"

#include <doctest/doctest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

using namespace ds;
using namespace ds::comm;

namespace {

// Two ends of one connection in this process, which can read its own memory.
struct Pair {
  explicit Pair(bool left_reads = true, bool right_reads = true) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    const PeerMemory own(memory.card(), memory.card());
    REQUIRE(own.readable());
    left = std::make_unique<Link>(UniqueFd(ends[0]), left_reads ? own : PeerMemory(), 1000);
    right = std::make_unique<Link>(UniqueFd(ends[1]), right_reads ? own : PeerMemory(), 1000);
  }
  // Moves bytes until both ends are idle or one of them has ended.
  void run() {
    while (!(left->idle() && right->idle()) && !left->ended() && !right->ended()) {
      for (Link* link : {left.get(), right.get()}) {
        link->note(EPOLLIN | EPOLLOUT);
        link->advance();
      }
    }
  }
  OwnMemory memory{true};
  std::unique_ptr<Link> left, right;
};

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

// Moves `bytes` from left to right.
std::string moved(Pair& pair, std::size_t bytes) {
  std::string from(bytes, 'x'), to(bytes, '-');
  for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<char>('a' + i % 23);
  pair.left->send(7, bytes_of(from));
  pair.right->receive(7, bytes_of(to));
  pair.run();
  CHECK(pair.left->idle());
  CHECK(pair.right->idle());
  pair.left->forget();
  pair.right->forget();
  return to == from ? "equal" : "different";
}

}  // namespace

TEST_CASE("messages arrive as data, as offers, and as data after an offer was refused") {
  Pair offers, data(false, false), refused(true, false);
  for (Pair* pair : {&offers, &data, &refused}) {
    for (const std::size_t bytes : {3UL, 480UL, 999UL, 1000UL, 70'000UL, 9'000'001UL}) {
      CAPTURE(bytes);
      CHECK(moved(*pair, bytes) == "equal");
    }
  }
}

TEST_CASE("a message of another slot or length is not accepted") {
  for (const std::uint64_t slot : {7U, 8U}) {
    Pair pair;
    std::string from(10, 'x'), to(slot == 7 ? 11 : 10, '-');
    pair.left->send(7, bytes_of(from));
    pair.right->receive(slot, bytes_of(to));
    for (int i = 0; i < 3; ++i) {
      pair.left->advance();
      pair.right->note(EPOLLIN);
      pair.right->advance();
      CHECK(!pair.right->can_move());
    }
    CHECK(pair.left->idle());
    CHECK(pair.right->is_receiving());
    CHECK(!pair.right->ended());
    pair.left->close();
    pair.right->note(EPOLLIN | EPOLLRDHUP);
    pair.right->advance();
    CHECK(pair.right->ended());
  }
}

TEST_CASE("memory that its owner has taken back is not accepted") {
  Pair pair;
  std::string from(5000, 'x'), to(5000, '-');
  pair.left->send(7, bytes_of(from));
  pair.left->advance();
  pair.memory.revoke();
  pair.right->receive(7, bytes_of(to));
  pair.run();
  CHECK(pair.right->ended());
  CHECK(pair.right->is_receiving());
}

TEST_CASE("a peer is readable on this machine only, and an obstacle is named") {
  const OwnMemory own(true), hidden(false);
  CHECK(PeerMemory(own.card(), own.card()).readable());
  MemoryCard elsewhere = own.card(), other_process = own.card(), ended = own.card();
  elsewhere.machine += "x";
  other_process.word ^= 1;
  CHECK(!PeerMemory(own.card(), elsewhere).readable());
  CHECK(PeerMemory(own.card(), elsewhere).obstacle().empty());
  CHECK(!PeerMemory(hidden.card(), hidden.card()).readable());
  CHECK(PeerMemory(hidden.card(), hidden.card()).obstacle().empty());
  CHECK(!PeerMemory(own.card(), other_process).readable());
  CHECK(PeerMemory(own.card(), other_process).obstacle().empty());
  ++other_process.pid_namespace;
  CHECK(PeerMemory(own.card(), other_process).obstacle() == "they are in different PID namespaces");
  const std::uint64_t zero = 0;
  ended.address = reinterpret_cast<std::uintptr_t>(&zero);
  CHECK(!PeerMemory(own.card(), ended).readable());
  CHECK(PeerMemory(own.card(), ended).obstacle().empty());
}
