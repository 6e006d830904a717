// Tests of the lookup configuration: resolv.conf as c-ares reads it, candidate names,
// nsswitch.conf.
#include "launcher/dns/dns_config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace ds::launcher;
using Names = std::vector<std::string>;

namespace {

const Names kPodSearch = {"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"};
const DnsConfig kPod{{"10.96.0.10"}, kPodSearch, 5, false};

DnsConfig read(const std::string& text) {
  std::string path = (std::filesystem::temp_directory_path() / "resolv.XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  REQUIRE(fd >= 0);
  ::close(fd);
  std::ofstream(path) << text;
  DnsConfig config = read_dns_config(path);
  std::filesystem::remove(path);
  return config;
}

DnsConfig searching(Names search, int ndots = 1) { return {{}, std::move(search), ndots, false}; }

}  // namespace

TEST_CASE("a pod's resolv.conf") {
  const DnsConfig config = read(
      "search ns.svc.cluster.local svc.cluster.local cluster.local\n"
      "nameserver 10.96.0.10\n"
      "options ndots:5\n");
  CHECK(config.servers == Names{"10.96.0.10"});
  CHECK(config.search == kPodSearch);
  CHECK(config.ndots == 5);
  CHECK_FALSE(config.tcp);
}

TEST_CASE("servers of both families, search overrides domain, use-vc asks over TCP") {
  const DnsConfig config = read(
      "# a comment\n; another\ndomain first.example\nnameserver fd00::a\nnameserver 10.0.0.1\n"
      "nameserver 10.0.0.1\nsearch a.example b.example\noptions ndots:2 use-vc edns0\n");
  CHECK(config.servers == Names{"fd00::a", "10.0.0.1"});
  CHECK(config.search == Names{"a.example", "b.example"});
  CHECK(config.ndots == 2);
  CHECK(config.tcp);
}

TEST_CASE("odd lines of resolv.conf cost only themselves") {
  const DnsConfig config = read(
      "\r\n \tnameserver\t10.0.0.1\r\nnameserver one.example\nnameserver\nnonsense 1 2\n"
      "search a.example # b.example\r\nsearch\noptions ndots:99 ndots\noptions\n");
  CHECK(config.servers == Names{"10.0.0.1"});
  CHECK(config.search == Names{"a.example"});
  CHECK(config.ndots == 15);
  CHECK(read("search a b\ndomain c d\noptions ndots:x\n").search == Names{"c"});
}

TEST_CASE("a file with NUL bytes, which c-ares before 1.27 reads out of bounds, names no server") {
  const std::string text("nameserver 10.0.0.1\n\0\n", 22);
  CHECK(read(text).servers == Names{"127.0.0.1"});
}

TEST_CASE("without a name server or without a file the server is 127.0.0.1") {
  CHECK(read("options ndots:5\n").servers == Names{"127.0.0.1"});
  CHECK(read_dns_config("/nonexistent/resolv.conf").servers == Names{"127.0.0.1"});
}

TEST_CASE("names of a pod: the search list, then the name as it is") {
  CHECK(candidate_names("gpt-0.gpt", kPod) == Names{"gpt-0.gpt.ns.svc.cluster.local",
                                                    "gpt-0.gpt.svc.cluster.local",
                                                    "gpt-0.gpt.cluster.local", "gpt-0.gpt"});
  CHECK(candidate_names("GPT-0.gpt.", kPod) == Names{"gpt-0.gpt"});
  CHECK(candidate_names("gpt-0.gpt.ns.svc.cluster.local", kPod) ==
        Names{"gpt-0.gpt.ns.svc.cluster.local"});
  CHECK(candidate_names("www.example.com", searching({"a.example"})) ==
        Names{"www.example.com", "www.example.com.a.example"});
  CHECK(candidate_names("node1", searching({"a.example", "A.example", "."})) ==
        Names{"node1.a.example", "node1"});
  CHECK(candidate_names("node1", searching({})) == Names{"node1"});
}

TEST_CASE("a long search list is cut, and the name as it is stays") {
  Names search;
  for (int i = 0; i < 20; ++i) search.push_back("d" + std::to_string(i));
  const Names names = candidate_names("node1", searching(search));
  CHECK(names.size() == kMaxCandidates);
  CHECK(names.front() == "node1.d0");
  CHECK(names.back() == "node1");
}

TEST_CASE("the sources that only getaddrinfo can ask") {
  CHECK_FALSE(has_further_sources(""));
  CHECK_FALSE(has_further_sources("hosts: files dns\npasswd: files sss\n"));
  CHECK_FALSE(has_further_sources("hosts:\tfiles [NOTFOUND = return] dns # mdns4\r\n"));
  CHECK(has_further_sources("hosts: files mdns4_minimal [NOTFOUND=return] dns\n"));
  CHECK(has_further_sources("hosts: files [!UNAVAIL=return] dns ldap"));
}
