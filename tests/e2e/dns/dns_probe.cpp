// Makes lookups from the command line: dns_probe RESOLV_CONF DNS_PORT look NAME... | wait SECONDS
// PORT NAME...
#include <fmt/format.h>

#include <asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "engine/base/error.h"
#include "launcher/dns/wait_hosts.h"

using namespace ds::launcher;

namespace {

int look(asio::io_context& io, const DnsOptions& options, std::span<char*> names) {
  DnsLookup lookup(io, options);
  for (const char* name : names)
    lookup.look_up(name, [name](const DnsResult& result) {
      std::string addresses;
      for (const auto& address : result.addresses) addresses += " " + address.to_string();
      const auto ttl = result.negative_ttl.value_or(std::chrono::seconds(0)).count();
      fmt::print("{}:{}{} ttl={}\n", name, addresses, " " + result.text, ttl);
    });
  io.run();
  return 0;
}

int wait(asio::io_context& io, const DnsOptions& options, std::span<char*> words) {
  std::vector<Host> hosts;
  for (const char* name : words.subspan(2)) {
    hosts.emplace_back();
    hosts.back().name = name;
  }
  WaitForHosts wish;
  wish.dns = options;
  wish.limit = std::chrono::seconds(std::stoi(words[0]));
  wish.port = std::stoi(words[1]);
  wish.news = std::chrono::seconds(2);
  wish.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  wait_for_hosts(io, hosts, wish);
  for (const Host& host : hosts) fmt::print("{} {}\n", host.name, host.address);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span words(argv, static_cast<std::size_t>(argc));
  if (words.size() < 5) return 64;
  asio::io_context io(1);
  DnsOptions options;
  options.resolv_conf = words[1];
  ::setenv("CARES_HOSTS", "/dev/null", 1);
  options.nsswitch = "/dev/null";
  options.port = static_cast<std::uint16_t>(std::stoi(words[2]));
  try {
    if (std::string_view(words[3]) == "look") return look(io, options, words.subspan(4));
    return wait(io, options, words.subspan(4));
  } catch (const ds::Error& error) {
    fmt::print(stderr, "{}\n", error.for_people());
    return 69;
  }
}
