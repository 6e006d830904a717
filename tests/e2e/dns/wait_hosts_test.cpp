// Tests of waiting for hosts whose records come late or name an address where nothing listens.
#include "launcher/dns/wait_hosts.h"

#include <algorithm>
#include <map>

#include "e2e/dns/dns_world.h"
#include "engine/base/deadline.h"
#include "engine/base/error.h"

using namespace ds::launcher;
using namespace ds::test;
using namespace std::chrono_literals;
using asio::ip::tcp;

namespace {

/// A zone whose records appear and change at given times.
class Zone {
 public:
  explicit Zone(DnsWorld& world) : world_(world), began_(ds::Clock::now()) {
    world.server("127.0.0.61", [this](const AskedQuestion& question) -> Messages {
      ++asked[question.name];
      const auto record = records_.find(question.name);
      if (record == records_.end() || ds::Clock::now() < began_ + record->second.from)
        return {rcode_answer(question, 3, 0)};
      const bool late = ds::Clock::now() >= began_ + record->second.replaced_from;
      return {address_answer(question, {late ? record->second.next : record->second.address})};
    });
    world.write("resolv.conf",
                "nameserver 127.0.0.61\nsearch ns.svc.cluster.local\noptions ndots:5\n");
  }
  /// Adds a record that appears at `from` and changes to `next` at `replaced_from`, both since the
  /// start.
  void add(const std::string& name, const std::string& address, std::chrono::milliseconds from,
           const std::string& next = {}, std::chrono::milliseconds replaced_from = 1h) {
    records_[name + ".ns.svc.cluster.local"] = {address, from, next, replaced_from};
  }
  std::map<std::string, int> asked;

 private:
  struct Record {
    std::string address;
    std::chrono::milliseconds from;
    std::string next;
    std::chrono::milliseconds replaced_from;
  };
  DnsWorld& world_;
  ds::Clock::time_point began_;
  std::map<std::string, Record> records_;
};

Host host(const std::string& name) {
  Host host;
  host.name = name;
  return host;
}

}  // namespace

TEST_CASE("hosts with late and stale records, and with a port or an address of their own") {
  DnsWorld world("");
  Zone zone(world);
  tcp::acceptor first(world.io, {asio::ip::make_address("127.0.0.71"), 0});
  const std::uint16_t port = first.local_endpoint().port();
  tcp::acceptor second(world.io, {asio::ip::make_address("127.0.0.72"), port});
  tcp::acceptor third(world.io, {asio::ip::make_address("127.0.0.73"), port});
  tcp::acceptor other(world.io, {asio::ip::make_address("127.0.0.74"), 0});
  zone.add("gpt-0.gpt", "127.0.0.71", 0ms);
  zone.add("gpt-1.gpt", "127.0.0.72", 700ms);
  zone.add("gpt-2.gpt", "127.0.0.79", 0ms, "127.0.0.73", 700ms);  // a pod that was replaced
  zone.add("gpt-3.gpt", "127.0.0.74", 0ms);
  zone.add("elsewhere", "127.0.0.71", 0ms);
  std::vector<Host> hosts = {host("gpt-0.gpt"), host("gpt-1.gpt"), host("gpt-2.gpt"),
                             host("gpt-3.gpt"), host("alias")};
  hosts[3].port = other.local_endpoint().port();
  hosts[4].address = "elsewhere";
  std::vector<std::string> news;
  WaitForHosts options;
  options.dns = world.options;
  options.port = port;
  options.limit = 30s;
  options.news = 200ms;
  options.say = [&](const std::string& line) { news.push_back(line); };
  wait_for_hosts(world.io, hosts, options);
  CHECK(hosts[0].address == "127.0.0.71");
  CHECK(hosts[1].address == "127.0.0.72");
  CHECK(hosts[2].address == "127.0.0.73");
  CHECK(hosts[3].address == "127.0.0.74");
  CHECK(hosts[4].address == "127.0.0.71");
  CHECK(hosts[2].found_by == "gpt-2.gpt");
  CHECK(hosts[4].found_by == "elsewhere");
  const auto said = [&](const std::string& text) {
    return std::any_of(news.begin(), news.end(), [&](const std::string& line) {
      return line.find("waiting for ") == 0 && line.find(text) != std::string::npos;
    });
  };
  CHECK(said("of 5 hosts"));
  CHECK(said("gpt-1.gpt: no DNS record (NXDOMAIN from 127.0.0.61)"));
  CHECK(said("gpt-2.gpt: has a DNS record, but no TCP connection to port"));
  CHECK(said("(Connection refused)"));
  CHECK(zone.asked["gpt-0.gpt.ns.svc.cluster.local"] == 2);
}

TEST_CASE("at the limit the error has a table of all missing hosts and a hint") {
  DnsWorld world("");
  Zone zone(world);
  tcp::acceptor here(world.io, {asio::ip::make_address("127.0.0.71"), 0});
  zone.add("gpt-0.gpt", "127.0.0.71", 0ms);
  zone.add("gpt-1.gpt", "127.0.0.79", 0ms);
  std::vector<Host> hosts = {host("gpt-0.gpt"), host("gpt-1.gpt"), host("gpt-2.gpt")};
  WaitForHosts options;
  options.dns = world.options;
  options.port = here.local_endpoint().port();
  options.limit = 300ms;
  try {
    wait_for_hosts(world.io, hosts, options);
    FAIL("two hosts are missing");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::unreachable);
    const std::string text = error.what();
    CHECK(text.find("2 of 3 hosts did not answer within 0.3 s\n  gpt-1.gpt  has a DNS record, but "
                    "no TCP") == 0);
    CHECK(text.find("(127.0.0.79: Connection refused) (1 lookup)\n  gpt-2.gpt  no DNS record "
                    "(NXDOMAIN from 127.0.0.61) (1 lookup)") != std::string::npos);
    CHECK(error.hint().find("headless Service") != std::string::npos);
  }
}

TEST_CASE("three hundred hosts, eight checks at once") {
  DnsWorld world("");
  Zone zone(world);
  tcp::acceptor here(world.io, {asio::ip::make_address("127.0.0.71"), 0});
  std::vector<Host> hosts;
  for (int i = 0; i < 300; ++i) {
    hosts.push_back(host("gpt-" + std::to_string(i) + ".gpt"));
    zone.add(hosts.back().name, "127.0.0.71", i % 3 == 0 ? 300ms : 0ms);
  }
  WaitForHosts options;
  options.dns = world.options;
  options.port = here.local_endpoint().port();
  options.at_once = 8;
  options.limit = 60s;
  wait_for_hosts(world.io, hosts, options);
  for (const Host& each : hosts) CHECK(each.address == "127.0.0.71");
}
