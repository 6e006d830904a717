// Tests of lookups against name servers with scripted faults: lost and forged packets, truncated
// answers, servers that fail or are silent.
#include <doctest/doctest.h>

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <set>

#include "e2e/dns/dns_world.h"
#include "engine/base/deadline.h"

using namespace ds::launcher;
using namespace ds::test;
using namespace std::chrono_literals;

namespace {

Messages none() { return {}; }

}  // namespace

TEST_CASE(
    "a name that exists costs two queries, each with its own port and id; a missing one eight") {
  DnsWorld world("search ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n");
  FakeDns& server = world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    if (question.name == "gpt-0.gpt.ns.svc.cluster.local")
      return {address_answer(question, {"10.1.0.5", "fd00::5"})};
    return {rcode_answer(question, 3)};
  });
  const DnsResult result = world.look_up("gpt-0.gpt");
  CHECK(texts(result) == std::vector<std::string>{"10.1.0.5", "fd00::5"});
  REQUIRE(server.asked().size() == 2);
  CHECK(server.ports()[0] != server.ports()[1]);
  CHECK(texts(world.look_up("gpt-0.gpt.ns.svc.cluster.local")).size() == 2);
  CHECK(server.asked().size() == 4);

  const DnsResult missing = world.look_up("gpt-9.gpt");
  CHECK(missing.problem == DnsProblem::no_record);
  CHECK(missing.text == "no DNS record (NXDOMAIN from 127.0.0.61)");
  CHECK(missing.negative_ttl == 5s);
  CHECK(server.asked().size() == 12);
  std::set<unsigned> ids;
  for (const AskedQuestion& question : server.asked()) ids.insert(question.id);
  CHECK(ids.size() >= 10);  // of 12; more than one pair equal: once in 900,000 runs
}

TEST_CASE("numeric addresses, the hosts file and localhost cost no query") {
  DnsWorld world("");
  FakeDns& server = world.server("127.0.0.61", [](const auto&) { return none(); });
  world.write("hosts", "127.0.0.9 here gpt-0\nfd00::9 here\n10.0.0.300 here\n");
  CHECK(texts(world.look_up("10.2.3.4")) == std::vector<std::string>{"10.2.3.4"});
  CHECK(texts(world.look_up("fd00::1")) == std::vector<std::string>{"fd00::1"});
  CHECK(texts(world.look_up("HERE")) == std::vector<std::string>{"127.0.0.9", "fd00::9"});
  CHECK(texts(world.look_up("localhost")) == std::vector<std::string>{"127.0.0.1", "::1"});
  CHECK(server.asked().empty());
}

TEST_CASE("forged packets are ignored, and the real answer behind them counts") {
  DnsWorld world("");
  asio::ip::udp::socket stranger(world.io, {asio::ip::make_address("127.0.0.66"), 0});
  FakeDns* server = nullptr;
  server = &world.server("127.0.0.61", [&](const AskedQuestion& question) -> Messages {
    stranger.send_to(asio::buffer(address_answer(question, {"10.6.6.1", "fd00::6:1"})),
                     server->last_client());
    AskedQuestion wrong_id = question;
    wrong_id.id ^= 1U;
    AskedQuestion wrong_name = question;
    wrong_name.name = "evil";
    AskedQuestion wrong_type = question;
    wrong_type.type = question.type == 1 ? 28 : 1;
    return {address_answer(wrong_id, {"10.6.6.2", "fd00::6:2"}),
            address_answer(wrong_name, {"10.6.6.3", "fd00::6:3"}),
            address_answer(wrong_type, {"10.6.6.4", "fd00::6:4"}),
            address_answer(question, {"10.1.0.5"})};
  });
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
}

TEST_CASE("a lost packet costs a second, not the lookup") {
  DnsWorld world("");
  FakeDns& server = world.server("127.0.0.61", [&](const AskedQuestion& question) -> Messages {
    if (++world.count <= 2) return none();
    return {address_answer(question, {"10.1.0.5"})};
  });
  const auto began = ds::Clock::now();
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
  CHECK(ds::Clock::now() - began >= 1s);
  CHECK(server.asked().size() == 4);
}

TEST_CASE("a silent name server before a good one costs 1.5 s, once for all candidates") {
  DnsWorld world("search a.example b.example\n");
  FakeDns& silent = world.server("127.0.0.61", [](const auto&) { return none(); });
  FakeDns& good = world.server("127.0.0.62", [](const AskedQuestion& question) -> Messages {
    return {question.name == "node1" ? address_answer(question, {"10.1.0.5"})
                                     : rcode_answer(question, 3)};
  });
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
  CHECK(silent.asked().size() == 4);  // two types, each sent twice
  CHECK(good.asked().size() == 6);    // three candidates
  const DnsResult missing = world.look_up("node2");
  CHECK(missing.problem == DnsProblem::no_record);
  CHECK(missing.text == "no DNS record (NXDOMAIN from 127.0.0.62)");
}

TEST_CASE(
    "a name server that fails is not the last word of several, and the others are not asked") {
  DnsWorld world("");
  FakeDns& failing = world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    return {rcode_answer(question, 2)};
  });
  FakeDns& good = world.server("127.0.0.62", [](const AskedQuestion& question) -> Messages {
    return {address_answer(question, {"10.1.0.5"})};
  });
  FakeDns& third = world.server("127.0.0.63", [](const auto&) { return none(); });
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
  CHECK(failing.asked().size() == 2);
  CHECK(good.asked().size() == 2);
  CHECK(third.asked().empty());
}

TEST_CASE("SERVFAIL, REFUSED, and a port that nobody has") {
  DnsWorld world("");
  FakeDns& server = world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    return {rcode_answer(question, question.name == "refused" ? 5 : 2)};
  });
  const DnsResult failed = world.look_up("node1");
  CHECK(failed.problem == DnsProblem::server_failed);
  CHECK(failed.text == "SERVFAIL from 127.0.0.61");
  CHECK(server.asked().size() == 2);
  CHECK(world.look_up("refused").text == "REFUSED from 127.0.0.61");
  world.options.port = static_cast<std::uint16_t>(server.port());
  world.write("resolv.conf", "nameserver 127.0.0.63\n");
  const DnsResult nobody = world.look_up("node1");
  CHECK(nobody.problem == DnsProblem::no_answer);
  CHECK(nobody.text == "no answer from name server 127.0.0.63 (connection refused, or no route)");
}

TEST_CASE("an answer for one type is not held up by the loss of the other") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    return question.type == 28 ? none() : Messages{address_answer(question, {"10.1.0.5"})};
  });
  const auto began = ds::Clock::now();
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
  CHECK(ds::Clock::now() - began >= 250ms);
}

TEST_CASE("use-vc asks over TCP from the start") {
  DnsWorld world("options use-vc\n");
  FakeDns& server = world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    return {address_answer(question, {"10.1.0.5"})};
  });
  CHECK(texts(world.look_up("node1")) == std::vector<std::string>{"10.1.0.5"});
  REQUIRE(server.asked().size() == 2);
  CHECK(server.asked()[0].tcp);
  CHECK(server.asked()[1].tcp);
}

TEST_CASE("the limit ends a lookup of silent servers") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const auto&) { return none(); });
  world.server("127.0.0.62", [](const auto&) { return none(); });
  world.options.limit = 300ms;
  const DnsResult result = world.look_up("node1");
  CHECK(result.problem == DnsProblem::no_answer);
  CHECK(result.text.starts_with("no answer from name server 127.0.0.61 within 0."));
}

TEST_CASE("a malformed answer is a failure of its server") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    MessageWriter message;
    message.head(question.id, kAnswerFlags, {1, 1, 0, 0}).question(question.name, question.type);
    return {message.u8(1).bytes()};  // ends inside the record's name
  });
  const DnsResult result = world.look_up("node1");
  CHECK(result.problem == DnsProblem::server_failed);
  CHECK(result.text == "malformed answer from 127.0.0.61");
}

TEST_CASE("a truncated answer is fetched over TCP, in pieces") {
  DnsWorld world("");
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i) many.push_back("10.1.0." + std::to_string(i));
  FakeDns& server = world.server("127.0.0.61", [&](const AskedQuestion& question) -> Messages {
    if (question.tcp) return {address_answer(question, many)};
    return {address_answer(question, {many[0]}, kAnswerFlags | 0x0200U)};
  });
  const DnsResult result = world.look_up("service");
  CHECK(result.addresses.size() == 200);
  CHECK(server.asked().size() == 4);
  CHECK(std::count_if(server.asked().begin(), server.asked().end(),
                      [](const AskedQuestion& question) { return question.tcp; }) == 2);
}

TEST_CASE("an alias, and a name that has IPv6 alone") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    if (question.name == "six") return {address_answer(question, {"fd00::6"})};
    MessageWriter message;
    message.head(question.id, kAnswerFlags, {1, question.type == 1 ? 2U : 1U, 0, 0});
    message.question(question.name, question.type).cname(question.name, "pod.cluster.local");
    if (question.type == 1) message.address("pod.cluster.local", "10.1.0.7");
    return {message.bytes()};
  });
  CHECK(texts(world.look_up("alias")) == std::vector<std::string>{"10.1.0.7"});
  CHECK(texts(world.look_up("six")) == std::vector<std::string>{"fd00::6"});
}

TEST_CASE("a name that DNS cannot hold is not asked for") {
  DnsWorld world("");
  FakeDns& server = world.server("127.0.0.61", [](const auto&) { return none(); });
  const DnsResult result = world.look_up("a..b");
  CHECK(result.problem == DnsProblem::no_record);
  CHECK(result.text == "no DNS record (not a domain name)");
  CHECK(server.asked().empty());
}

TEST_CASE("further sources are asked after a no of DNS; without an address its text stays") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const AskedQuestion& question) -> Messages {
    return {rcode_answer(question, 3)};
  });
  world.write("nsswitch.conf", "hosts: files mymachines dns\n");
  const DnsResult result = world.look_up("no-such-name.invalid");
  CHECK(result.problem == DnsProblem::no_record);
  CHECK(result.text == "no DNS record (NXDOMAIN from 127.0.0.61)");
  CHECK(result.negative_ttl == 5s);
}

TEST_CASE("a destroyed lookup calls nothing back, whatever its stage") {
  DnsWorld world("");
  world.server("127.0.0.61", [](const auto&) { return none(); });
  bool called = false;
  {
    DnsLookup lookup(world.io, world.options);
    for (const char* name : {"127.0.0.1", "node1", "node2", "a..b"})
      lookup.look_up(name, [&](const DnsResult&) { called = true; });
    world.io.poll();
    called = false;  // the number was answered
  }
  world.run_for(100ms);
  CHECK_FALSE(called);

  // The owner goes inside its own call.
  auto owner = std::make_unique<DnsLookup>(world.io, world.options);
  owner->look_up("127.0.0.1", [&](const DnsResult&) {
    owner.reset();
    called = true;
  });
  world.run_for(50ms);
  CHECK(called);
}
