// Tests of Acceptor over real sockets of 127.0.0.1: silent and slow peers never delay proven ones.
#include "engine/comm/mesh/acceptor.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/bytes.h"
#include "engine/comm/mesh/coordinator_client.h"
#include "support/wait_readable.h"

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return Deadline::after(30s); }
const Membership kMember{.key = "k", .job = "j"};

// Rank 0 of a world of two.
struct RankZero {
  explicit RankZero(AcceptorLimits limits = {})
      : acceptor(
            listen_on({"127.0.0.1", 0}), kMember,
            [this](std::string_view request) { return coordinator.answer(request); }, limits) {}
  Endpoint at() const { return acceptor.endpoint(); }
  UniqueFd call() const { return dial(at(), soon()); }
  UniqueFd join(const std::string& purpose) const {
    return open_connection(at(), kMember, purpose, soon());
  }
  Coordinator coordinator{2, 20s};
  Acceptor acceptor;
};

bool is_closed(int fd) {
  std::vector<std::byte> buffer(4096);
  while (test::wait_readable(fd, soon())) {
    if (::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

void say(int fd, const std::string& text) {
  REQUIRE(::send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0);
}

}  // namespace

TEST_CASE("the coordinator answers over connections that proved the key") {
  const RankZero zero;
  CoordinatorClient a(zero.at(), kMember, soon());
  CoordinatorClient b(zero.at(), kMember, soon());
  CHECK(a.report_fault("world/0/1", "first", soon()) == "first");
  CHECK(b.report_fault("world/0/1", std::string(900'000, 'x'), soon()) == "first");
  const GroupSpec spec{.name = "world", .epoch = 0, .ranks = {0, 1}};
  CHECK(a.meet("world/0/1", spec, 0, "x", Deadline::after(20ms)).absent == std::vector<int>{1});
  std::thread later([&] { b.meet("world/0/1", spec, 1, "y", soon()); });
  CHECK(a.meet("world/0/1", spec, 0, "x", soon()).cards == std::vector<std::string>{"x", "y"});
  later.join();
}

TEST_CASE("a silent peer is dropped after its time, and garbage at once") {
  const RankZero zero({.proof_time = 50ms});
  const UniqueFd silent = zero.call();
  const UniqueFd garbage = zero.call();
  say(garbage.get(), "GET / HTTP/1.1\r\n\r\n");
  const UniqueFd half = zero.call();
  say(half.get(), "dslink2\nhalf a hello");
  for (const UniqueFd* fd : {&silent, &garbage, &half}) CHECK(is_closed(fd->get()));
}

TEST_CASE("100 silent peers are capped and do not keep out one that has the key") {
  const RankZero zero({.proof_time = 3600s, .unproven = 16});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(zero.call());
  CoordinatorClient client(zero.at(), kMember, soon());
  CHECK(client.report_fault("g", "why", soon()) == "why");
  int closed = 0;
  for (int i = 0; i < 84; ++i)
    closed += is_closed(silent[static_cast<std::size_t>(i)].get()) ? 1 : 0;
  CHECK(closed == 84);
}

TEST_CASE("a peer that sends byte by byte is accepted if it has the key") {
  const RankZero zero;
  const UniqueFd fd = zero.call();
  const auto send = [&](auto message) {
    for (const std::byte& byte : std::as_bytes(std::span(&message, 1)))
      REQUIRE(write_all(fd.get(), {&byte, 1}, soon()) == IoResult::done);
  };
  const auto receive = [&](auto& message) {
    const auto bytes = std::as_writable_bytes(std::span(&message, 1));
    REQUIRE(read_exactly(fd.get(), bytes, soon()) == IoResult::done);
  };
  const Hello own = make_hello();
  send(own);
  Hello theirs{};
  receive(theirs);
  send(sign("coordinator\nj", "k", Side::dialer, own, theirs));
  SignedNote answer;
  receive(answer);
  CHECK(answer == sign("", "k", Side::acceptor, own, theirs));
}

TEST_CASE("a client that never reads its answers is dropped, the others are not affected") {
  const RankZero zero({.waiting_output = std::size_t{1} << 20});
  CoordinatorClient other(zero.at(), kMember, soon());
  other.report_fault("g", std::string(9000, 'x'), soon());
  const UniqueFd glutton = zero.join(kForCoordinator);
  ByteWriter question;
  question.put(static_cast<std::uint64_t>(Request::fault)).put("g").put("");
  const std::string request = ByteWriter().put(question.take()).take();
  // Sends requests until the acceptor has noticed and closed the connection.
  const Deadline patience = soon();
  while (write_all(glutton.get(), std::as_bytes(std::span(request)), patience) == IoResult::done)
    REQUIRE_FALSE(patience.passed());
  CHECK(other.report_fault("g", "", soon()).size() == 9000);
}

TEST_CASE("malformed and oversized requests end the connection") {
  const RankZero zero;
  for (const std::string& text :
       {ByteWriter().put("").take(), ByteWriter().put(std::string(8, '\7')).take(),
        ByteWriter().put(std::uint64_t{1} << 60).take()}) {
    const UniqueFd fd = zero.join(kForCoordinator);
    say(fd.get(), text);
    CHECK(is_closed(fd.get()));
  }
}

TEST_CASE("links wait for their owner; the latest link of a name counts") {
  RankZero zero;
  CHECK_FALSE(zero.acceptor.wait_for_link("link mesh 1", Deadline::after(10ms)));
  const UniqueFd first = zero.join("link mesh 1");
  const UniqueFd second = zero.join("link mesh 1");
  CHECK(zero.acceptor.wait_for_link("link mesh 1", soon()));
  const UniqueFd taken = zero.acceptor.take_link("link mesh 1");
  REQUIRE(taken);
  CHECK_FALSE(zero.acceptor.take_link("link mesh 1"));
  say(second.get(), "x");
  std::byte byte{};
  CHECK(read_exactly(taken.get(), {&byte, 1}, soon()) == IoResult::done);
  CHECK(is_closed(first.get()));
}

TEST_CASE("when rank 0 ends, its clients notice") {
  std::optional<RankZero> zero(std::in_place);
  CoordinatorClient client(zero->at(), kMember, soon());
  zero.reset();
  try {
    client.report_fault("g", "why", soon());
    FAIL("must throw");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::comm);
    CHECK(std::string(error.what()).find("rank 0 at 127.0.0.1:") == 0);
  }
}

TEST_CASE("a dialer retries while an impostor answers, and does not obey it") {
  const UniqueFd listener = listen_on({"127.0.0.1", 0});
  std::thread impostor([&] {
    if (!test::wait_readable(listener.get(), soon())) return;
    const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const Hello hello = make_hello();
    SignedNote note;
    note.mac.fill(std::byte{1});
    static_cast<void>(write_all(fd.get(), hello, soon()));
    static_cast<void>(write_all(fd.get(), std::as_bytes(std::span(&note, 1)), soon()));
    static_cast<void>(is_closed(fd.get()));
  });
  std::string message;
  try {
    open_connection(local_endpoint(listener.get()), kMember, kForCoordinator,
                    Deadline::after(100ms));
  } catch (const Error& error) {
    message = error.what();
  }
  impostor.join();
  CHECK_MESSAGE(!message.empty(), message);
}
