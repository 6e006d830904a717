// Tests of knocks over loopback: a node hears from where a root knocks, and nothing else matters.
#include "launcher/join/knock.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <asio/write.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "launcher/transport/new_addresses.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

std::uint16_t free_port(asio::io_context& io) {
  const asio::ip::tcp::acceptor any(io, {asio::ip::make_address("127.0.0.1"), 0});
  return any.local_endpoint().port();
}

}  // namespace

TEST_CASE("a node hears each knock, and the sender's address") {
  asio::io_context io(1);
  const std::uint16_t port = free_port(io);
  std::vector<std::string> heard;
  const KnockListener node(io, "127.0.0.1", port,
                           [&](const std::string& address, const std::string& name) {
                             heard.push_back(address);
                             CHECK(name.empty());
                           });
  Knocker root(io, port);
  for (std::size_t knocks = 1; knocks <= 3; ++knocks) {
    int told = 0;
    root.knock("127.0.0.1", [&](const DnsResult& result) { told += result.addresses.size() == 1; });
    for (int i = 0; i < 100 && heard.size() < knocks; ++i) io.run_one_for(100ms);
    CHECK(told == 1);
    CHECK(heard.size() == knocks);
  }
  for (const std::string& address : heard) CHECK(address == "127.0.0.1");
}

TEST_CASE("a worker says its name; a sender that says too much, or nothing for long, harms nobody") {
  asio::io_context io(1);
  const std::uint16_t port = free_port(io);
  std::vector<std::string> heard;
  const KnockListener launcher(
      io, "127.0.0.1", port,
      [&](const std::string&, const std::string& name) { heard.push_back(name); });
  std::vector<asio::ip::tcp::socket> senders;
  for (const std::string& text : {std::string("gpt-worker-1"), std::string(1000, 'x'), std::string()}) {
    senders.emplace_back(io).connect({asio::ip::make_address("127.0.0.1"), port});
    asio::write(senders.back(), asio::buffer(text));
  }
  senders.front().close();
  for (int i = 0; i < 40 && heard.size() < 3; ++i) io.run_one_for(100ms);
  std::ranges::sort(heard);
  CHECK(heard == std::vector<std::string>{"", "gpt-worker-1", std::string(64, 'x')});
}

TEST_CASE("a host that has moved is known by its first label, and told to those who wait") {
  NewAddresses moved;
  int told = 0;
  auto life = std::make_shared<int>();
  moved.wait("w-1.gpt.ns.svc", life, [&] { ++told; });
  moved.set("w-2", "10.0.0.2");
  CHECK(told == 0);
  moved.set("w-1", "10.0.0.3");
  moved.set("w-1", "10.0.0.3");
  CHECK(told == 1);
  CHECK(moved.of("w-1.gpt") == "10.0.0.3");
  CHECK(moved.of("w-3").empty());
  life.reset();
  moved.set("w-1", "10.0.0.4");
  CHECK(told == 1);
}

TEST_CASE("a port that is taken and an address that is none are no errors: nothing is heard") {
  asio::io_context io(1);
  const asio::ip::tcp::acceptor taken(io, {asio::ip::make_address("127.0.0.1"), 0});
  const auto never = [](const std::string&, const std::string&) { CHECK(false); };
  const KnockListener busy(io, "127.0.0.1", taken.local_endpoint().port(), never);
  const KnockListener elsewhere(io, "192.0.2.1", 29400, never);
  const KnockListener nowhere(io, "pod", 29400, never);
  // Nobody listens there: the knock ends by itself.
  Knocker root(io, free_port(io));
  root.knock("127.0.0.1", [](const DnsResult&) {});
  for (int i = 0; i < 5; ++i) io.run_one_for(50ms);
}
