// Tests of host selection: DeepSpeed's documented examples, and the other filters.
#include "launcher/hosts/host_selection.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "engine/base/error.h"

using namespace ds::launcher;

namespace {

/// Returns "w0:0,2 w1", with slots only if some were chosen.
std::string text_of(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", host.name);
    if (host.devices.empty())
      text += fmt::format(" slots={}", host.slots);
    else
      text += fmt::format(":{}", fmt::join(host.devices, ","));
  }
  return text;
}

/// Returns the value, or the first line of the error after its kind.
std::string outcome(const std::function<std::vector<Host>()>& make) {
  try {
    return text_of(make());
  } catch (const ds::Error& error) {
    const std::string what = error.what();
    return (error.kind() == ds::ErrorKind::usage ? "usage: " : "config: ") +
           what.substr(0, what.find('\n'));
  }
}

std::string selected(const std::string& hostfile, const std::string& include,
                     const std::string& exclude) {
  return outcome([&] {
    HostSelection selection;
    if (!include.empty()) selection.include = parse_slot_picks("--include", include);
    if (!exclude.empty()) selection.exclude = parse_slot_picks("--exclude", exclude);
    return select_slots(select_hosts(parse_hostfile(hostfile, "hosts"), selection), selection);
  });
}

std::string picked(const std::string& hostfile, const std::string& picks) {
  return outcome([&] {
    HostSelection selection;
    selection.picks = parse_host_picks("--host", picks);
    if (hostfile.empty()) return hosts_of_picks(selection.picks);
    return select_slots(select_hosts(parse_hostfile(hostfile, "hosts"), selection), selection);
  });
}

}  // namespace

TEST_CASE("DeepSpeed's examples of --include and --exclude mean what its documents say") {
  const std::string one = "worker-0 slots=4";
  const std::string two = "worker-0 slots=4\nworker-1 slots=4";
  const std::string documented = "worker-[0-3] slots=2";  // from DeepSpeed's page "Getting started"
  struct Row {
    std::string hostfile, include, exclude, expected;
  };
  const std::vector<Row> rows = {
      // DeepSpeed's page "Getting started", and the description of its options.
      {documented, "", "worker-1@worker-2@worker-3:0,1", "worker-0 slots=2"},
      {two, "worker-0@worker-1:0,2", "", "worker-0 slots=4 worker-1:0,2"},
      {two, "", "worker-1:0", "worker-0 slots=4 worker-1:1,2,3"},
      {two, "worker-1:0", "", "worker-1:0"},
      {two, "worker-0@worker-1", "", "worker-0 slots=4 worker-1 slots=4"},
      // DeepSpeed's unit tests: one node.
      {one, "", "", "worker-0 slots=4"},
      {one, "", "worker-0:1", "worker-0:0,2,3"},
      {one, "", "worker-0:1,2", "worker-0:0,3"},
      {one, "worker-0:1", "", "worker-0:1"},
      {one, "worker-0:1,1", "", "worker-0:1"},
      {one, "worker-0:1@worker-0:0,1", "", "worker-0:0,1"},
      {one, "worker-0", "", "worker-0 slots=4"},
      {one, "", "worker-0", "config: --exclude removes every host"},
      {one, "", "worker-0:0,1,2,3", "config: --exclude removes every slot"},
      // Several nodes.
      {two, "worker-1:0,3", "", "worker-1:0,3"},
      {two, "", "worker-1", "worker-0 slots=4"},
      {two, "", "worker-0:0,1@worker-1:3", "worker-0:2,3 worker-1:0,1,2"},
      {two, "", "worker-0:0,1,2,3", "worker-1 slots=4"},
      {two, "worker-0", "", "worker-0 slots=4"},
      {two, "worker-1@worker-0:2", "", "worker-0:2 worker-1 slots=4"},  // hostfile order
      // Errors.
      {two, "jeff", "",
       "config: --include names host 'jeff', which is not one of the 2 hosts of the job"},
      {two, "", "jeff",
       "config: --exclude names host 'jeff', which is not one of the 2 hosts of the job"},
      {two, "worker-1:4", "",
       "config: --include names slot 4 of worker-1, which has 4 slots: 0,1,2,3"},
      {two, "worker-1:0,4", "",
       "config: --include names slot 4 of worker-1, which has 4 slots: 0,1,2,3"},
      {two, "", "worker-1:4",
       "config: --exclude names slot 4 of worker-1, which has 4 slots: 0,1,2,3"},
      {two, "", "worker-1@worker-0:1@5",
       "config: --exclude names host '5', which is not one of the 2 hosts of the job"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.include);
    CAPTURE(row.exclude);
    CHECK(selected(row.hostfile, row.include, row.exclude) == row.expected);
  }
}

TEST_CASE("beyond DeepSpeed: ranges of names and of slots, devices of the hostfile") {
  CHECK(selected("n[1-4] slots=8", "n[2-3]:0-1,7@n4", "") == "n2:0,1,7 n3:0,1,7 n4 slots=8");
  CHECK(selected("a gpus=2,5,7\nb slots=2", "a:5,7", "") == "a:5,7");
  CHECK(selected("a gpus=2,5,7", "", "a:5") == "a:2,7");
  CHECK(selected("a gpus=2,5,7", "a:1", "") ==
        "config: --include names slot 1 of a, which has 3 slots: 2,5,7");
  CHECK(selected("a slots=2\na slots=3 port=2", "", "a:1") == "a:0 a:0,2");
  CHECK(selected("a slots=2", "a@a:1", "") == "a slots=2");
}

TEST_CASE("nonsense in --include and --host points at it and says the form") {
  const auto whole = [](const std::function<void()>& parse) -> std::string {
    try {
      parse();
    } catch (const ds::Error& error) {
      CHECK(error.kind() == ds::ErrorKind::usage);
      return error.for_people();
    }
    return "none";
  };
  CHECK(whole([] { parse_slot_picks("--include", "a@b:x"); }) ==
        "--include: slots must be an integer, not 'x'\n  a@b:x\n      ^\n"
        "  hint: give HOST[:SLOT,SLOT...] separated by @, for example worker-0@worker-1:0,2");
  CHECK(whole([] { parse_host_picks("--host", "a:4,,b"); }) ==
        "--host: missing host name\n  a:4,,b\n      ^\n"
        "  hint: give HOST[:SLOTS] separated by commas, for example node1:4,node[2-3],node4:*");
  for (const char* value : {"", "a@", "@a", "a:", "a:1,", "a:-1", "a:1:2", "a b", "a:4096"})
    CHECK_MESSAGE(whole([&] { parse_slot_picks("-i", value); }).starts_with("-i: "), value);
  for (const char* value : {"", ",", "a:0", "a:4097", "a:x", "+n", "+nx", "+e", "+e:2", "a[2-1]"})
    CHECK_MESSAGE(whole([&] { parse_host_picks("-H", value); }).starts_with("-H: "), value);
  CHECK(whole([] { parse_host_picks("-H", "a[0-65535],b"); }).starts_with("-H: more than 65536"));
}

TEST_CASE("--host without a hostfile names hosts: 1 slot unless said, duplicates add up") {
  CHECK(picked("", "a:4,b,c:*") == "a slots=4 b slots=1 c slots=0");
  CHECK(picked("", "a:4,b,a:2,b") == "a slots=6 b slots=2");
  CHECK(picked("", "n[1-2]:3,[fd00::1]:2,me@x") ==
        "n1 slots=3 n2 slots=3 fd00::1 slots=2 x slots=1");
  CHECK(picked("", "a:4096,a").starts_with("config: --host: a has more than 4096 slots"));
  CHECK(picked("", "+n1").starts_with("config: --host +n1 refers to a hostfile"));
  CHECK(hosts_of_picks(parse_host_picks("--host", "a,b:1"))[0].bare);
  CHECK_FALSE(hosts_of_picks(parse_host_picks("--host", "a,b:1"))[1].bare);
  CHECK(hosts_of_picks(parse_host_picks("--host", "me@a"))[0].user == "me");
}

TEST_CASE("--host with a hostfile filters it") {
  const std::string hosts = "a slots=4\nb slots=2 user=u\nc\nd gpus=3,4,5";
  CHECK(picked(hosts, "b,a:2") == "a slots=2 b slots=2");
  CHECK(picked(hosts, "a:*,c:3") == "a slots=4 c slots=3");
  CHECK(picked(hosts, "+n1,+n0:1") == "a slots=1 b slots=2");
  CHECK(picked(hosts, "d:2") == "d:3,4,5");
  CHECK(picked(hosts, "u@b") == "b slots=2");
  CHECK(picked(hosts, "b:1,b:1") == "b slots=2");
  CHECK(picked(hosts, "a:5") == "config: --host requests 5 slots of a, which has 4");
  CHECK(picked(hosts, "e") ==
        "config: --host names host 'e', which is not one of the 4 hosts of the job");
  CHECK(picked(hosts, "+n4") == "config: --host +n4: there are only 4 hosts, counted from +n0");
  CHECK(picked(hosts, "x@b") == "config: --host x@b: the hostfile has another user for b");
}

TEST_CASE("--num-nodes takes the first hosts, --num-gpus their first slots") {
  const auto with = [](const std::string& hostfile, std::optional<int> nodes,
                       std::optional<int> gpus, int spares) {
    return outcome([&] {
      HostSelection selection;
      selection.num_nodes = nodes;
      selection.num_gpus = gpus;
      selection.spares = spares;
      return select_slots(select_hosts(parse_hostfile(hostfile, "hosts"), selection), selection);
    });
  };
  const std::string hosts = "a slots=4\nb slots=2\nc";
  CHECK(with(hosts, 2, {}, 0) == "a slots=4 b slots=2");
  CHECK(with(hosts, 1, {}, 1) == "a slots=4 b slots=2");
  CHECK(with(hosts, 4, {}, 0) == "config: --num-nodes 4: there are only 3 hosts");
  CHECK(with(hosts, {}, 2, 0) == "a:0,1 b:0,1 c:0,1");
  CHECK(with(hosts, 1, 3, 0) == "a:0,1,2");
  CHECK(with(hosts, {}, 3, 0) == "config: --num-gpus 3: b has 2 slots");
  CHECK(with("a gpus=4,6", {}, 1, 0) == "a:4");
}
