// Fixture of the DNS tests: name servers with scripted answers, configuration files that name them,
// lookups.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>

#include "e2e/dns/fake_dns.h"
#include "launcher/dns/dns_lookup.h"

namespace ds::test {

class DnsWorld {
 public:
  explicit DnsWorld(std::string conf) : conf_(std::move(conf)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "dns.XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    options.resolv_conf = folder_ / "resolv.conf";
    ::setenv("CARES_HOSTS", (folder_ / "hosts").c_str(), 1);
    options.nsswitch = folder_ / "nsswitch.conf";
  }
  ~DnsWorld() {
    ::unsetenv("CARES_HOSTS");
    std::filesystem::remove_all(folder_);
  }
  DnsWorld(const DnsWorld&) = delete;
  DnsWorld& operator=(const DnsWorld&) = delete;

  /// One more name server; all have one port, as real ones do.
  FakeDns& server(const std::string& address, FakeDns::Answer answer) {
    const std::uint16_t port = servers_.empty() ? std::uint16_t{0} : options.port;
    FakeDns& made = servers_.emplace_back(io, address, port, std::move(answer));
    options.port = made.port();
    conf_ += "nameserver " + address + "\n";
    write("resolv.conf", conf_);
    return made;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  launcher::DnsResult look_up(const std::string& name) {
    std::optional<launcher::DnsResult> result;
    launcher::DnsLookup lookup(io, options);
    lookup.look_up(name, [&](launcher::DnsResult found) { result = std::move(found); });
    CHECK_FALSE(result);  // never from inside the call
    io.restart();
    while (!result) io.run_one();
    return *result;
  }
  void run_for(std::chrono::milliseconds span) {
    io.restart();
    io.run_for(span);
  }

  asio::io_context io{1};
  launcher::DnsOptions options;
  int count = 0;

 private:
  std::filesystem::path folder_;
  std::string conf_;
  std::list<FakeDns> servers_;
};

inline std::vector<std::string> texts(const launcher::DnsResult& result) {
  std::vector<std::string> texts;
  for (const auto& address : result.addresses) texts.push_back(address.to_string());
  return texts;
}

}  // namespace ds::test
