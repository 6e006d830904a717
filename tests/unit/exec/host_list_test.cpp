// Lists of hosts: items, files, groups and what is left out.
#include "launcher/exec/host_list.h"

#include <doctest/doctest.h>

#include <map>

#include "engine/base/error.h"

namespace {

using namespace ds::launcher;
using namespace ds::launcher::exec;

ListReader reader() {
  return {.file = [](const std::string& path) -> std::string {
            if (path == "-") return "in1\nin2\n";
            if (path == "hosts") return "# racks\na1 a2\t# two\na[3-4],@web\n\n";
            if (path == "loop") return "^loop";
            if (path == "windows") return "\xEF\xBB\xBF# from a spreadsheet\r\n\tb1\r\nb2\r\n";
            if (path == "broken") return "\xEF\xBB\xBFn1\n  n2,n[3\n";
            throw ds::Error(ds::ErrorKind::config, "cannot read " + path);
          },
          .group = [](const std::string& name) -> std::optional<std::string> {
            if (name == "web") return "web[1-2]\n-web2\n";
            return std::nullopt;
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
Failure failure(const std::string& list) {
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
  CHECK(failure("n1,ann@n1,bob@n1").kind == ds::ErrorKind::usage);
  CHECK(failure("n1,ann@n1,bob@n1").text == "-w: n1 is named for two users, ann and bob");
}

TEST_CASE("a port that is left out leaves the host's other ports in") {
  CHECK(listed("n1:1,n1:2", "n1:2") == "n1:1");
  CHECK(listed("n1:1,n1:2", "n1").empty());
  CHECK(listed("n1,n2", "n1:22") == "n2");
}

TEST_CASE("what is wrong is named with its place") {
  CHECK(failure("n[1-").kind == ds::ErrorKind::usage);
  CHECK(failure("n[1-").text.find("-w") != std::string::npos);
  CHECK(failure("n:x").text.find("a port must be an integer") != std::string::npos);
  CHECK(failure("/n1/").text == "-w: '/n1/' is not a host; patterns are not known here");
  CHECK(failure("@nobody").text == "-w: no group 'nobody'");
  CHECK(failure("@").text == "-w: '@' needs a group name");
  CHECK(failure("n1,^").text == "-w: '^' needs a file name");
  CHECK(failure("^missing").text == "cannot read missing");
  CHECK(failure("^broken").text == "broken:2:7: unclosed '['\n    n2,n[3\n        ^");
  CHECK(failure("^loop").text == "loop: files and groups name each other without end");
}

TEST_CASE("genders attributes are groups") {
  const std::string_view text =
      "# comment\nlogin1 login\nnode[1-8]\tcompute,rack=1\nnode[9-16] compute,rack=2 # "
      "more\nbare\n";
  CHECK(genders_group(text, "compute") == "node[1-8]\nnode[9-16]\n");
  CHECK(genders_group(text, "rack=2") == "node[9-16]\n");
  CHECK(genders_group(text, "rack") == "node[1-8]\nnode[9-16]\n");
  CHECK(genders_group(text, "rac") == std::nullopt);
  CHECK(genders_group(text, "bare") == std::nullopt);
}

TEST_CASE("groups of clustershell") {
  const std::string_view text = "# x\nadm: login[1-2]\n gpu : @old,n[1-4]\n";
  CHECK(clush_group(text, "adm") == " login[1-2]");
  CHECK(clush_group(text, "gpu") == " @old,n[1-4]");
  CHECK(clush_group(text, "x") == std::nullopt);
}
