// Lists of hosts: items, files, groups and what is left out.
#include "launcher/groups/host_list.h"

#include <doctest/doctest.h>

#include <map>

#include "engine/base/error.h"

namespace {

using namespace ds::launcher;

ListReader reader() {
  return {.file = [](const std::string& path) -> std::string {
            if (path == "-") return "in1\nin2\n";
            if (path == "hosts") return "# racks\na1 a2\t# two\na[3-4],@web\n\n";
            if (path == "loop") return "^loop";
            if (path == "windows") return "\xEF\xBB\xBF# from a spreadsheet\r\n\tb1\r\nb2\r\n";
            if (path == "broken") return "\xEF\xBB\xBFn1\n  n2,n[3\n";
            throw ds::Error(ds::ErrorKind::config, "cannot read " + path);
          },
          .group = [](const std::string& name, const std::string& within) -> GroupNodes {
            if (name == "web") return {"web[1-2]\n-web2\n", ""};
            if (name == "rack1") return {"n[1-4]", ""};
            if (name == "rack2") return {"n[3-6]", ""};
            if (name == "site:big") return {"@small!s2", "site"};
            if (name == "small" && within == "site") return {"s[1-3]", "site"};
            throw ds::Error(ds::ErrorKind::config, "no group '" + name + "'", "did you mean web?");
          }};
}

std::string text_of(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    if (!text.empty()) text += " ";
    text += (host.user.empty() ? "" : host.user + "@") + host.name;
    if (host.port != 0) text += ":" + std::to_string(host.port);
  }
  return text;
}

std::string listed(const std::string& list, const std::string& excluded = "") {
  HostListParser parser(reader());
  parser.add(list, "-w");
  parser.exclude(excluded, "-x");
  return text_of(parser.hosts());
}

struct Failure {
  ds::ErrorKind kind;
  std::string text;
};
Failure list_failure(const std::string& list) {
  try {
    listed(list);
  } catch (const ds::Error& error) {
    return {error.kind(), error.what()};
  }
  return {ds::ErrorKind::bug, "none"};
}

}  // namespace

TEST_CASE("items are separated by commas and blanks outside of brackets") {
  CHECK(listed("n1,n2") == "n1 n2");
  CHECK(listed("n[1-2,4],m") == "n1 n2 n4 m");
  CHECK(listed(" n1 ,, n2\n") == "n1 n2");
  CHECK(listed("ann@n[1-2]:2222") == "ann@n1:2222 ann@n2:2222");
  CHECK(listed("[fe80::1]:22") == "fe80::1:22");
  CHECK(listed("n1,n1,n1:22") == "n1 n1:22");
  CHECK(listed("").empty());
}

TEST_CASE("what is left out is left out wherever it stands") {
  CHECK(listed("-n2,n[1-3]") == "n1 n3");
  CHECK(listed("n[1-9]", "n[2-8]") == "n1 n9");
  CHECK(listed("n[1-9]", "-n[2-8]") == "n1 n9");
  CHECK(listed("web[1-3]", "@web") == "web3");
  CHECK(listed("n1", "other") == "n1");
}

TEST_CASE("files, groups and standard input are lists again") {
  CHECK(listed("^hosts") == "a1 a2 a3 a4 web1");
  CHECK(listed("-") == "in1 in2");
  CHECK(listed("@web") == "web1");
  CHECK(listed("x,^hosts,-a[1-4]") == "x web1");
  CHECK(listed("^windows") == "b1 b2");
}

TEST_CASE("a host that is named again with a user is that user's; two users are no silent choice") {
  CHECK(listed("n1,ann@n1") == "ann@n1");
  CHECK(listed("ann@n1,n1,ann@n1") == "ann@n1");
  CHECK(listed("ann@n1:1,bob@n1:2") == "ann@n1:1 bob@n1:2");
  CHECK(list_failure("n1,ann@n1,bob@n1").kind == ds::ErrorKind::usage);
  CHECK(list_failure("n1,ann@n1,bob@n1").text == "-w: n1 is named for two users, ann and bob");
}

TEST_CASE("a port that is left out leaves the host's other ports in") {
  CHECK(listed("n1:1,n1:2", "n1:2") == "n1:1");
  CHECK(listed("n1:1,n1:2", "n1").empty());
  CHECK(listed("n1,n2", "n1:22") == "n2");
}

TEST_CASE("what is wrong is named with its place") {
  CHECK(list_failure("n[1-").kind == ds::ErrorKind::usage);
  CHECK(list_failure("n[1-").text.find("-w") != std::string::npos);
  CHECK(list_failure("n:x").text.find("a port must be an integer") != std::string::npos);
  CHECK(list_failure("/n1/").text == "-w: '/n1/' is not a host; patterns are not known here");
  CHECK(list_failure("@nobody").text == "-w: no group 'nobody'");
  CHECK(list_failure("@").text == "-w: '@' needs a group name");
  CHECK(list_failure("n1,^").text == "-w: '^' needs a file name");
  CHECK(list_failure("^missing").text == "cannot read missing");
  CHECK(list_failure("^broken").text == "broken:2:7: unclosed '['\n    n2,n[3\n        ^");
  CHECK(list_failure("^loop").text == "loop: files and groups name each other without end");
}

TEST_CASE("set operators work from left to right, within their list") {
  CHECK(listed("n[1-4]!n2") == "n1 n3 n4");
  CHECK(listed("n[1-4] ! n2 & n[1-3]") == "n1 n3");
  CHECK(listed("n[1-3]^n[3-4]") == "n1 n2 n4");
  CHECK(listed("n1,n2!n[1-2],n2") == "n2");
  CHECK(listed("@rack1&@rack2") == "n3 n4");
  CHECK(listed("@rack1^@rack2") == "n1 n2 n5 n6");
  CHECK(listed("@rack[1-2]!n4") == "n1 n2 n3 n5 n6");
  CHECK(listed("@site:big") == "s1 s3");
  CHECK(listed("n[1-4]", "@rack1!n1") == "n1");
  CHECK(list_failure("n1!").text == "-w: '!' needs hosts after it");
  CHECK(list_failure("n1&&n2").text == "-w: '&' needs hosts after it");
}
