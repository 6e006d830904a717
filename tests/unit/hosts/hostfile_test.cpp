// Tests of hostfiles: vectors of docs/hostfile.md, whole messages with carets, limits, and the
// committed files.
#include "launcher/hosts/hostfile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "support/read_file.h"
#include "unit/hosts/doc_vectors.h"

using namespace ds::launcher;

namespace {

std::string describe(const Host& host) {
  const std::string slots = host.slots == kAutoSlots ? "auto" : std::to_string(host.slots);
  return fmt::format(
      "{} slots={}{}{}{}{}{}", host.name, slots,
      host.max_slots != 0 ? fmt::format(" max-slots={}", host.max_slots) : "",
      host.devices.empty() ? "" : fmt::format(" gpus={}", fmt::join(host.devices, ",")),
      host.port != 0 ? fmt::format(" port={}", host.port) : "",
      host.user.empty() ? "" : " user=" + host.user,
      host.address.empty() ? "" : " addr=" + host.address);
}

std::string describe(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) text += (text.empty() ? "" : ", ") + describe(host);
  return text;
}

/// Returns the error of a hostfile as a user sees it; "none" if it is valid.
std::string error_of(std::string_view text) {
  try {
    parse_hostfile(text, "hosts");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "none";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int total_slots(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0,
                         [](int sum, const Host& host) { return sum + host.slots; });
}

}  // namespace

TEST_CASE("hostfiles read as docs/hostfile.md says") {
  const auto rows = ds::test::doc_vectors("Hosts");
  CHECK(rows.size() >= 60);
  for (const auto& row : rows) {
    CAPTURE(row.input);
    if (row.is_error) {
      CHECK(first_line(error_of(row.input)) == row.expected);
    } else {
      CHECK(describe(parse_hostfile(row.input, "hosts")) == row.expected);
    }
  }
}

TEST_CASE("an error shows the line, points at the word and says what to do") {
  CHECK(error_of("node01 slots=2\nnode02 slot=8\n") ==
        "hosts:2:8: unknown key 'slot'\n"
        "  node02 slot=8\n"
        "         ^\n"
        "  hint: did you mean 'slots'?");
  CHECK(error_of("node01 slots=0") ==
        "hosts:1:14: a host must have at least 1 slot\n"
        "  node01 slots=0\n"
        "               ^\n"
        "  hint: to exclude a host, remove its line or put '#' before it");
  CHECK(error_of("a slots=1\nb\n\na slots=1") ==
        "hosts:4:1: host 'a' is given twice (first at hosts:1:1)\n"
        "  a slots=1\n"
        "  ^\n"
        "  hint: give a host one line with slots=N; only lines without options may repeat and add "
        "up");
  CHECK(error_of("node[08-11,9-1] slots=2") ==
        "hosts:1:12: the range 9-1 is reversed\n"
        "  node[08-11,9-1] slots=2\n"
        "             ^\n"
        "  hint: write 1-9");
  CHECK(error_of("node01 cores_per_socket=4") ==
        "hosts:1:8: unknown key 'cores_per_socket'\n"
        "  node01 cores_per_socket=4\n"
        "         ^\n"
        "  hint: known keys: slots, max-slots, gpus, port, user, addr");
  CHECK(error_of("# none\n") ==
        "hosts: the file names no host\n"
        "  hint: write one host per line, for example: node01 slots=8");
}

TEST_CASE("the caret stands below its word after tabs, UTF-8, control bytes and on long lines") {
  CHECK(error_of("\tnode01\tslots=x") ==
        "hosts:1:15: slots must be an integer, not 'x'\n"
        "  \tnode01\tslots=x\n"
        "  \t      \t      ^");
  CHECK(error_of("n\xC3\xB6"
                 "de1") ==
        "hosts:1:2: a host name cannot contain byte 0xc3\n"
        "  n\xC3\xB6"
        "de1\n"
        "   ^\n"
        "  hint: host names are ASCII: letters, digits, '.', '-', '_', '+'");
  CHECK(error_of("a user=\xC3\xB6") ==
        "hosts:1:8: a user name cannot contain this character\n"
        "  a user=\xC3\xB6\n"
        "         ^");
  const std::string with_escape = error_of("node01 \x1b[31m=2");
  CHECK(with_escape.find('\x1b') == std::string::npos);
  const std::string long_line =
      error_of("node01" + std::string(5000, ' ') + "x=1" + std::string(5000, ' '));
  CHECK(first_line(long_line) == "hosts:1:5007: unknown key 'x'");
  CHECK(long_line.size() < 600);
  const std::string many_digits = error_of("node01 slots=" + std::string(100000, '1'));
  CHECK(first_line(many_digits) == "hosts:1:14: slots must be at most 4096");
  CHECK(many_digits.size() < 600);
}

TEST_CASE("limits: slots that add up, hosts of a file, length of a host") {
  std::string many;
  for (int i = 0; i < 4096; ++i) many += "a\n";
  CHECK(parse_hostfile(many, "hosts").front().slots == 4096);
  CHECK(first_line(error_of(many + "a")) ==
        "hosts:4097:1: host 'a' has more than 4096 slots (first at hosts:1:1)");
  CHECK(parse_hostfile("a[0-65535]", "hosts").size() == 65536);
  CHECK(first_line(error_of("a[0-65535]\nb")) == "hosts:2:1: more than 65536 hosts");
  CHECK(first_line(error_of(std::string(1025, 'a'))) ==
        "hosts:1:1: host with 1025 characters; at most 1024 are allowed");
  CHECK(first_line(error_of(std::string(256, 'a'))) ==
        "hosts:1:1: host name with 256 characters; at most 255 are allowed");
}

TEST_CASE("a host remembers the line that named it first") {
  const std::vector<Host> hosts = parse_hostfile("\n  b\nb\na", "hosts");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].place.file == "hosts");
  CHECK(hosts[0].place.line == 2);
  CHECK(hosts[0].place.column == 3);
  CHECK(hosts[1].place.line == 4);
}

TEST_CASE("a byte order mark is skipped, a NUL byte is an error") {
  CHECK(describe(parse_hostfile("\xEF\xBB\xBFnode01", "hosts")) == "node01 slots=1");
  CHECK(first_line(error_of(std::string_view("a\0b", 3))) ==
        "hosts:1:2: a host name cannot contain byte 0x00");
}

TEST_CASE(
    "an IPv6 address and its zone hold no bytes that inet_pton would not see (found by the "
    "fuzzer)") {
  CHECK(first_line(error_of(std::string_view("[::1\0x]", 7))) ==
        "hosts:1:2: '::1?x' is not an IPv6 address");
  CHECK(first_line(error_of("[fe80::1%a\x01]")) ==
        "hosts:1:2: 'fe80::1%a?' is not an IPv6 address");
}

namespace {

/// Files by name; the name is the identity.
IncludeReader files(std::map<std::string, std::string> texts) {
  return [texts = std::move(texts)](const std::string& path, const std::string&) {
    const auto found = texts.find(path);
    if (found == texts.end()) throw ds::Error(ds::ErrorKind::config, "no file " + path, "look");
    return IncludedText{path, path, found->second};
  };
}

std::string include_error(const std::string& text, std::map<std::string, std::string> texts) {
  try {
    parse_hostfile(text, "hosts", files(std::move(texts)), "hosts");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "none";
}

}  // namespace

TEST_CASE("include puts the lines of another file in its place") {
  const auto hosts =
      parse_hostfile("a\ninclude \"my racks\" // all\nz slots=3\ninclude bad", "hosts",
                     files({{"my racks", "r1 slots=2\nr2\nr3"}, {"bad", "^r2"}}));
  CHECK(describe(hosts) == "a slots=1, r1 slots=2, r3 slots=1, z slots=3");
  CHECK(hosts[1].place.file == "my racks");
  CHECK(describe(parse_hostfile("include slots=2\ninclude2", "hosts")) ==
        "include slots=2, include2 slots=1");
}

TEST_CASE("trouble with includes names the way to it") {
  CHECK(include_error("x\ninclude r", {{"r", "include s"}, {"s", "n slots=y"}}) ==
        "s:1:9: slots must be an integer, not 'y'\n  n slots=y\n          ^\n"
        "  included by r:1\n  included by hosts:2");
  CHECK(include_error("include r", {{"r", "a\ninclude hosts"}, {"hosts", ""}}) ==
        "hosts includes itself\n  included by r:2\n  included by hosts:1");
  CHECK(include_error("include r", {}) == "no file r\n  included by hosts:1\n  hint: look");
  CHECK(include_error("include r", {{"r", "b"}}) == "none");
  CHECK(include_error("b slots=1\ninclude r", {{"r", "b"}})
            .starts_with("r:1:1: host 'b' is given twice (first at hosts:1:1)"));
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "include r\n";
  CHECK(include_error(many, {{"r", ""}}).starts_with("hosts:1001:1: more than 1000 includes"));
  CHECK(first_line(error_of("include r")) == "hosts:1:1: include is not supported here");
}

TEST_CASE("the committed hostfiles say what their README says") {
  const auto hosts_of = [](const std::string& path) {
    return parse_hostfile(ds::test::read_source(path), path);
  };
  CHECK(describe(hosts_of("hostfiles/local.hosts")) == "localhost slots=2");
  CHECK(describe(hosts_of("hostfiles/two_nodes.hosts")) == "node01 slots=8, node02 slots=8");
  const std::vector<Host> cluster = hosts_of("hostfiles/cluster.hosts");
  REQUIRE(cluster.size() == 35);
  CHECK(total_slots(cluster) == 32 * 8 + 16 + 2 + 4);
  CHECK(cluster[15].name == "rack0n16");
  CHECK(cluster[16].name == "rack1n01");
  CHECK(describe(cluster[32]) == "big01 slots=16 port=2222 user=train");
  CHECK(describe(cluster[33]) == "spare slots=2");
  CHECK(describe(cluster[34]) == "fd00::7 slots=4");
}
