// Tests of the table of hosts that could not be used.
#include "launcher/hosts/bad_hosts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace ds::launcher;

TEST_CASE("hosts of one stage and reason share a line") {
  CHECK(bad_hosts_table({{"n1", "connection", "n1: refused"},
                         {"n7", "host key", "n7: host key is unknown"},
                         {"n2", "connection", "n2: refused"},
                         {"n3", "key exchange", "n3: refused"}},
                        "  ") ==
        "  HOSTS       STAGE         REASON\n"
        "  n[1-2] (2)  connection    refused\n"
        "  n7          host key      host key is unknown\n"
        "  n3          key exchange  refused");
}

TEST_CASE("256 bad hosts are one line, though each reason names its host") {
  std::vector<BadHost> hosts;
  for (int i = 1; i <= 250; ++i) {
    const std::string name = fmt::format("127.0.1.{}", i);
    hosts.push_back({name, "connection", fmt::format("{0}: port 22: {0}: refused; try `ssh {0}`", name)});
  }
  CHECK(bad_hosts_table(hosts, "") ==
        "HOSTS                  STAGE       REASON\n"
        "127.0.1.[1-250] (250)  connection  port 22: refused; try `ssh HOST`");
}

TEST_CASE("an address differs by host, that of a common jump host does not") {
  CHECK(
      bad_hosts_table({{"n1", "connection", "n1 (c-1.x): by 10.9.9.9: 10.0.0.1 as c-1.x: refused"},
                       {"n2", "connection", "n2 (c-2.x): by 10.9.9.9: 10.0.0.2 as c-2.x: refused"}},
                      "") ==
      "HOSTS       STAGE       REASON\n"
      "n[1-2] (2)  connection  by 10.9.9.9: ADDRESS as ADDRESS: refused");
  CHECK(bad_hosts_table({{"n1", "", "n1: fe80::1: refused"}, {"n2", "", "n2: fe80::2: refused"}},
                        "") ==
        "HOSTS       STAGE  REASON\n"
        "n[1-2] (2)  -      refused");
}

TEST_CASE("a host alone is shown as it was dialled, with its own reason") {
  CHECK(bad_hosts_table({{"n1", "connection", "n1 (10.0.0.1): port 22: 10.0.0.1: refused"},
                         {"n10", "connection", "n10: no route to n1"}},
                        "") ==
        "HOSTS          STAGE       REASON\n"
        "n1 (10.0.0.1)  connection  port 22: 10.0.0.1: refused\n"
        "n10            connection  no route to n1");
  CHECK(bad_host_line({"n1", "host key", "n1: it is unknown"}) ==
        "n1: it is unknown (stage: host key)");
  CHECK(bad_host_line({"n1", "", "n1: \x1b]0;x"}) == "n1: ?]0;x");
  CHECK(bad_host_line({"n1", "", "config:3: no"}) == "n1: config:3: no");
  CHECK(bad_host_line({"n1", "", "n1 (a): no"}) == "n1 (a): no");
}

TEST_CASE("a long list of hosts has a line of its own") {
  std::vector<BadHost> hosts;
  for (const char* name : {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})
    hosts.push_back({name, "connection", "refused"});
  hosts.push_back({"n1", "host key", "unknown\x1b"});
  CHECK(bad_hosts_table(hosts, " ") ==
        " HOSTS  STAGE       REASON\n"
        " alpha,beta,gamma,delta,epsilon,zeta,eta,theta (8)\n"
        "        connection  refused\n"
        " n1     host key    unknown?");
}

TEST_CASE("a host that is named twice is shown once") {
  CHECK(bad_hosts_table({{"n1", "connection", "refused"}, {"n1", "connection", "refused"}}, "") ==
        "HOSTS  STAGE       REASON\n"
        "n1     connection  refused");
}
