// Tests MasterDoor and MasterProbe against each other on loopback, turn by turn.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <vector>

#include "launcher/agent/master_addr.h"

using namespace ds::launcher;
using ds::Clock;
using ds::UniqueFd;

namespace {

const std::string kQuestion = "0123456789abcdef";
const std::string kAnswer = "fedcba9876543210";

UniqueFd dial(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return {};
  return socket;
}

/// What the door says until it hangs up, or has nothing to say for as long as `turns` of it.
std::string heard(MasterDoor& door, int socket, int turns = 20) {
  std::string text;
  for (int i = 0; i < turns; ++i) {
    door.turn(Clock::now());
    pollfd one{socket, POLLIN, 0};
    if (::poll(&one, 1, 5) == 0) continue;
    char buffer[64];
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) return text + "|";
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

/// Results by address, once all are there.
std::map<std::string, std::string> results_of(MasterDoor& door, const Probe& what) {
  MasterProbe probe;
  probe.start(what, Clock::now());
  std::map<std::string, std::string> results;
  while (results.size() < what.addresses.size()) {
    pollfd both[] = {{door.fd(), POLLIN, 0}, {probe.fd(), POLLIN, 0}};
    ::poll(both, 2, static_cast<int>(ds::Deadline(probe.wake_at()).remaining().count()));
    door.turn(Clock::now());
    for (const Probed::Result& result : probe.turn(Clock::now()))
      CHECK(results.emplace(what.addresses[result.index], result.problem).second);
  }
  return results;
}

struct OpenDoor {
  HeldPort held = hold_port(0);
  MasterDoor door;
  OpenDoor() {
    REQUIRE(held.port != 0);
    door.open(held, kQuestion, kAnswer);
    REQUIRE(door.fd() >= 0);
  }
};

}  // namespace

TEST_CASE("a probe learns which addresses lead to the door") {
  OpenDoor here;
  const Probe what{.search = 3,
                   .addresses = {"127.0.0.1", "127.1.2.3", "nonsense", "255.255.255.255"},
                   .port = here.held.port,
                   .question = kQuestion,
                   .answer = kAnswer};
  const auto results = results_of(here.door, what);
  CHECK(results.at("127.0.0.1").empty());
  CHECK(results.at("127.1.2.3").empty());
  CHECK(results.at("nonsense") == "not an address");
  CHECK_FALSE(results.at("255.255.255.255").empty());
}

TEST_CASE("without a door, behind another one and in front of silence no address is reached") {
  OpenDoor here;
  Probe what{.addresses = {"127.0.0.1"},
             .port = here.held.port,
             .question = kQuestion,
             .answer = "another answer  "};
  CHECK(results_of(here.door, what).at("127.0.0.1") == "another program answers there");
  what.answer = kAnswer;
  what.question = "another question";
  CHECK(results_of(here.door, what).at("127.0.0.1") == "another program answers there");
  what.question = "short";  // the door waits for the rest
  what.limit_ms = 50;
  CHECK(results_of(here.door, what).at("127.0.0.1") == "no answer within 0.05 s");
  here.door.close();
  CHECK(results_of(here.door, what).at("127.0.0.1") == "Connection refused");
}

TEST_CASE("who does not know the question gets nothing, however it is cut") {
  OpenDoor here;
  for (const std::string& words :
       {std::string("GET / HTTP/1.0\r\n\r\n"), std::string(16, 'x'), kQuestion + "x", kAnswer}) {
    const UniqueFd peer = dial(here.held.port);
    REQUIRE(::send(peer.get(), words.data(), words.size(), 0) > 0);
    CHECK(heard(here.door, peer.get()) == "|");
  }
  const UniqueFd slow = dial(here.held.port);
  for (const char& letter : kQuestion) {
    CHECK(heard(here.door, slow.get(), 1).empty());
    REQUIRE(::send(slow.get(), &letter, 1, 0) == 1);
  }
  CHECK(heard(here.door, slow.get()) == kAnswer);
}

TEST_CASE("a peer that says nothing is dropped in time, and many do not keep others out") {
  OpenDoor here;
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < MasterDoor::kMostPeers + 3; ++i)
    silent.push_back(dial(here.held.port));
  here.door.turn(Clock::now());
  const UniqueFd last = dial(here.held.port);
  REQUIRE(::send(last.get(), kQuestion.data(), kQuestion.size(), 0) == 16);
  CHECK(heard(here.door, last.get(), 3).empty());  // it waits in the queue
  CHECK(here.door.wake_at() <= Clock::now() + MasterDoor::kPeerLimit);
  here.door.turn(Clock::now() + MasterDoor::kPeerLimit);
  CHECK(heard(here.door, silent.front().get()) == "|");
  CHECK(heard(here.door, last.get()) == kAnswer);
}

TEST_CASE("after the door is closed a framework can listen on the held port at once") {
  OpenDoor here;
  const UniqueFd peer = dial(here.held.port);
  ::send(peer.get(), kQuestion.data(), kQuestion.size(), 0);
  CHECK(heard(here.door, peer.get()) == kAnswer);
  here.door.close();
  CHECK(here.door.fd() == -1);
  const UniqueFd store(::socket(AF_INET, SOCK_STREAM, 0));
  const int on = 1;
  ::setsockopt(store.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(here.held.port);
  CHECK(::bind(store.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  CHECK(::listen(store.get(), 8) == 0);
}

TEST_CASE("a port that is wanted and taken is not had") {
  const HeldPort held = hold_port(0);
  CHECK(hold_port(held.port).port == held.port);  // nobody listens there: so a rank can bind it
  UniqueFd strict(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  REQUIRE(::bind(strict.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::getsockname(strict.get(), reinterpret_cast<sockaddr*>(&any), &size) == 0);
  const HeldPort taken = hold_port(ntohs(any.sin_port));
  CHECK(taken.port == 0);
  CHECK(taken.problem == EADDRINUSE);
}
