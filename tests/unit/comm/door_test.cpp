// Tests of Door over real sockets of 127.0.0.1: silent and slow visitors never delay proven ones.
#include "engine/comm/mesh/door.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/mesh/store_client.h"
#include "engine/comm/mesh/visit.h"

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

Deadline soon() { return Deadline::after(30s); }

struct House {
  explicit House(Door::Limits limits = Door::Limits())
      : door(listen_on("127.0.0.1", 0), Household{.key = "k", .job = "j", .serves_store = true},
             limits) {}
  UniqueFd call() const { return dial("127.0.0.1", door.endpoint().port, soon()); }
  Invitation invitation() const { return {"127.0.0.1", door.endpoint().port, "k", "j"}; }
  Door door;
};

bool is_closed(int fd) {
  std::vector<std::byte> buffer(4096);
  while (wait_readable(fd, soon())) {
    if (::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

void say(int fd, const std::string& text) {
  REQUIRE(::send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0);
}

}  // namespace

TEST_CASE("the store answers over a connection that proved the key") {
  const House house;
  StoreClient a(house.invitation(), soon());
  StoreClient b(house.invitation(), soon());
  a.set("k", "v", soon());
  CHECK(b.get("k", soon()) == "v");
  CHECK(b.get("none", soon()) == std::nullopt);
  CHECK(b.wait("none", Deadline::after(20ms)) == std::nullopt);
  CHECK(b.get("k", soon()) == "v");  // a late answer to the wait before would have been skipped
  std::thread setter([&] { a.set("later", std::string(1'000'000, 'x'), soon()); });
  CHECK(b.wait("later", soon())->size() == 1'000'000);
  setter.join();
  CHECK(a.add("n", 3, soon()) == 3);
  CHECK(b.add("n", 4, soon()) == 7);
  CHECK(b.set_new("k", "w", soon()) == "v");
}

TEST_CASE("a silent visitor is dropped after its time, and garbage at once") {
  const House house({.proof_time = 50ms});
  const UniqueFd silent = house.call();
  const UniqueFd garbage = house.call();
  say(garbage.get(), "GET / HTTP/1.1\r\n\r\n");
  const UniqueFd half = house.call();
  say(half.get(), "dslink1\nhalf a hello");
  for (const UniqueFd* fd : {&silent, &garbage, &half}) CHECK(is_closed(fd->get()));
}

TEST_CASE("100 silent visitors are capped and do not keep out a visitor that has the key") {
  const House house({.proof_time = 3600s, .unproven = 16});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(house.call());
  StoreClient client(house.invitation(), soon());
  client.set("k", "v", soon());
  int closed = 0;
  for (int i = 0; i < 84; ++i)
    closed += is_closed(silent[static_cast<std::size_t>(i)].get()) ? 1 : 0;
  CHECK(closed == 84);
}

TEST_CASE("a visitor that sends byte by byte is accepted if it has the key") {
  const House house;
  const UniqueFd fd = house.call();
  const Hello own = make_hello();
  for (const std::byte& byte : own)
    REQUIRE(write_all(fd.get(), {&byte, 1}, soon()) == IoResult::done);
  Hello theirs{};
  REQUIRE(read_exactly(fd.get(), theirs, soon()) == IoResult::done);
  const Mac mac = make_mac("k", Side::dialer, own, theirs);
  for (const std::byte& byte : mac)
    REQUIRE(write_all(fd.get(), {&byte, 1}, soon()) == IoResult::done);
  Mac answer{};
  REQUIRE(read_exactly(fd.get(), answer, soon()) == IoResult::done);
  CHECK(answer == make_mac("k", Side::acceptor, own, theirs));
}

TEST_CASE("a proven visitor that never reads its answers is dropped, the others are not affected") {
  const House house({.waiting_output = std::size_t{1} << 20});
  StoreClient other(house.invitation(), soon());
  other.set("big", std::string(1'000'000, 'x'), soon());
  const UniqueFd glutton = visit(house.invitation(), "store", soon());
  const std::vector<std::byte> question = encode({FrameKind::get, 1, "big", ""});
  // Sends requests until the door has noticed and closed the connection.
  const Deadline patience = soon();
  while (write_all(glutton.get(), question, patience) == IoResult::done)
    REQUIRE_FALSE(patience.passed());
  CHECK(other.get("big", soon())->size() == 1'000'000);
}

TEST_CASE("links wait for their owner; the latest link of a name counts") {
  House house;
  CHECK_FALSE(house.door.wait_for_link("mesh 1", Deadline::after(10ms)));
  const UniqueFd first = visit(house.invitation(), "link mesh 1", soon());
  const UniqueFd second = visit(house.invitation(), "link mesh 1", soon());
  CHECK(house.door.wait_for_link("mesh 1", soon()));
  const UniqueFd taken = house.door.take_link("mesh 1");
  REQUIRE(taken);
  CHECK_FALSE(house.door.take_link("mesh 1"));
  say(second.get(), "x");
  std::byte byte{};
  CHECK(read_exactly(taken.get(), {&byte, 1}, soon()) == IoResult::done);
  CHECK(is_closed(first.get()));
}

TEST_CASE("when the door is destroyed, its visitors notice") {
  std::optional<House> house(std::in_place);
  StoreClient client(house->invitation(), soon());
  house.reset();
  try {
    client.get("k", soon());
    FAIL("must throw");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::comm);
    CHECK(std::string(error.what()).find("the store of rank 0 at 127.0.0.1:") == 0);
  }
}

TEST_CASE("a dialer retries while an impostor answers, and does not obey it") {
  const UniqueFd listener = listen_on("127.0.0.1", 0);
  const int port = local_endpoint(listener.get()).port;
  std::thread impostor([&] {
    if (!wait_readable(listener.get(), soon())) return;
    const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    Hello hello = make_hello();
    Mac mac{};
    mac.fill(std::byte{1});
    static_cast<void>(write_all(fd.get(), hello, soon()));
    static_cast<void>(write_all(fd.get(), mac, soon()));
    static_cast<void>(is_closed(fd.get()));
  });
  std::string message;
  try {
    visit({"127.0.0.1", port, "k", "j"}, "store", Deadline::after(100ms));
  } catch (const Error& error) {
    message = error.what();
  }
  impostor.join();
  CHECK_MESSAGE(!message.empty(), message);
}

TEST_CASE("endpoints are parsed as they are written") {
  for (const Endpoint& endpoint :
       {Endpoint{"127.0.0.1", 1}, Endpoint{"::1", 65535}, Endpoint{"fe80::1%eth0", 80}}) {
    CHECK(parse_endpoint(endpoint.text()) == endpoint);
  }
  for (const char* text :
       {"", ":", "1.2.3.4", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:x", "[::1:80"}) {
    CHECK_FALSE(parse_endpoint(text));
  }
}
