// resolv.conf, hosts files and nsswitch.conf as they are found, and the names that follow from
// them.
#include <doctest/doctest.h>

#include "launcher/dns/candidate_names.h"
#include "launcher/dns/hosts_file.h"
#include "launcher/dns/resolv_conf.h"

using namespace ds::launcher;
using Names = std::vector<std::string>;

namespace {

const Names kPodSearch = {"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"};

}  // namespace

TEST_CASE("a pod's resolv.conf") {
  const ResolvConf conf = parse_resolv_conf(
      "search ns.svc.cluster.local svc.cluster.local cluster.local\n"
      "nameserver 10.96.0.10\n"
      "options ndots:5\n");
  CHECK(conf == ResolvConf{.servers = {"10.96.0.10"}, .search = kPodSearch, .ndots = 5});
}

TEST_CASE("everything that resolv.conf can say about this") {
  const ResolvConf conf = parse_resolv_conf(
      "# a comment\n; another\n"
      "nameserver fd00::a\nnameserver fe80::1%eth0\nnameserver 10.0.0.1\nnameserver 10.0.0.2\n"
      "domain first.example\nsearch a.example. b.example\n"
      "options ndots:2 timeout:1 attempts:3 use-vc rotate edns0\n");
  CHECK(conf.servers == Names{"fd00::a", "fe80::1%eth0", "10.0.0.1"});
  CHECK(conf.search == Names{"a.example", "b.example"});
  CHECK(conf.ndots == 2);
  CHECK(conf.timeout == 1);
  CHECK(conf.attempts == 3);
  CHECK(conf.tcp_only);
  CHECK(parse_resolv_conf("search a b\ndomain c d\n").search == Names{"c"});
}

TEST_CASE("odd lines of resolv.conf cost only themselves") {
  CHECK(parse_resolv_conf("") == ResolvConf{});
  const ResolvConf conf = parse_resolv_conf(
      "search a.example # b.example\n"
      "options ndots:99 timeout:0 attempts:99999999999999999999\nnameserver 10.0.0.9");
  CHECK(conf.search == Names{"a.example"});
  CHECK(conf.ndots == 15);
  CHECK(conf.timeout == 1);
  CHECK(conf.attempts == 5);
  CHECK(conf.servers == Names{"10.0.0.9"});
  const ResolvConf odd = parse_resolv_conf(
      "\r\n \tnameserver\t10.0.0.1 # the old one\r\n"
      "nameserver 10.0.0.1\nnameserver 10.0.0.300\nnameserver one.example\n"
      "nameserver 10.0.0.2%eth0\nnameserver fe80::1%\nnameserver\n"
      "nonsense 1 2\noptions ndots:\noptions ndots:x timeout:1s attempts:-\nsearch\ndomain .\n");
  CHECK(odd == ResolvConf{.servers = {"10.0.0.1"}});
}

TEST_CASE("names of a pod: the search list, then the name as it is") {
  CHECK(candidate_names("gpt-0.gpt", kPodSearch, 5) ==
        Names{"gpt-0.gpt.ns.svc.cluster.local", "gpt-0.gpt.svc.cluster.local",
              "gpt-0.gpt.cluster.local", "gpt-0.gpt"});
  CHECK(candidate_names("GPT-0.gpt.", kPodSearch, 5) == Names{"gpt-0.gpt"});
  CHECK(candidate_names("gpt-0.gpt.ns.svc.cluster.local", kPodSearch, 5) ==
        Names{"gpt-0.gpt.ns.svc.cluster.local"});
  CHECK(candidate_names("www.example.com", Names{"a.example"}, 1) ==
        Names{"www.example.com", "www.example.com.a.example"});
  CHECK(candidate_names("node1", Names{"a.example", "A.example"}, 1) ==
        Names{"node1.a.example", "node1"});
  CHECK(candidate_names("node1", {}, 1) == Names{"node1"});
}

TEST_CASE("a long search list is cut, and the name as it is stays") {
  Names search;
  for (int i = 0; i < 20; ++i) search.push_back("d" + std::to_string(i));
  const Names names = candidate_names("node1", search, 1);
  CHECK(names.size() == kMaxCandidates);
  CHECK(names.front() == "node1.d0");
  CHECK(names.back() == "node1");
}

TEST_CASE("a name that DNS cannot hold has no candidates; a domain that makes it so is left out") {
  for (const std::string name : {"", ".", "a..b", "a b", "::1"}) {
    CAPTURE(name);
    CHECK(candidate_names(name, kPodSearch, 5).empty());
  }
  CHECK(candidate_names("a", Names{std::string(300, 'x'), "b c", "ok"}, 1) == Names{"a.ok", "a"});
}

TEST_CASE("a hosts file as kubelet writes it") {
  const std::string text =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n"
      "10.1.2.3\tgpt-0.gpt.ns.svc.cluster.local\tgpt-0\r\nfd00::3 GPT-0 # again\nalone\n";
  CHECK(find_in_hosts_file(text, "gpt-0") == Names{"10.1.2.3", "fd00::3"});
  CHECK(find_in_hosts_file(text, "Gpt-0.gpt.ns.svc.cluster.local.") == Names{"10.1.2.3"});
  CHECK(find_in_hosts_file(text, "10.1.2.3").empty());
  CHECK(find_in_hosts_file(text, "again").empty());
}

TEST_CASE("which sources only getaddrinfo can ask") {
  CHECK_FALSE(has_further_sources(""));
  CHECK_FALSE(has_further_sources("hosts: files dns\npasswd: files sss\n"));
  CHECK_FALSE(has_further_sources("hosts:\tfiles [NOTFOUND = return] dns # mdns4\n"));
  CHECK(has_further_sources("hosts: files mdns4_minimal [NOTFOUND=return] dns\n"));
  CHECK(has_further_sources("hosts: files [!UNAVAIL=return] dns ldap"));
}
