// Tests of placement: invariants over generated hosts, -n, the table, and the JSON read by a
// JSON parser.
#include "launcher/hosts/placement.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "engine/base/error.h"
#include "support/place_ranks.h"

using namespace ds::launcher;

namespace {

Host host(std::string name, int slots) {
  return {.name = std::move(name), .user = {}, .port = 0, .slots = slots, .place = {}};
}

std::string error_of(const std::vector<Host>& hosts, int ranks) {
  try {
    place_ranks(hosts, ranks, 0);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "none";
}

void check_invariants(const Placement& placement) {
  int next_rank = 0;
  for (std::size_t n = 0; n < placement.nodes.size(); ++n) {
    const Node& node = placement.nodes[n];
    CHECK(node.node_rank == static_cast<int>(n));
    CHECK(!node.ranks.empty());
    CHECK(static_cast<int>(node.ranks.size()) <= node.host.slots);
    for (int local = 0; local < static_cast<int>(node.ranks.size()); ++local, ++next_rank) {
      const RankPlace expected{next_rank, node.node_rank, local, local};
      CHECK(placement.ranks.at(static_cast<std::size_t>(next_rank)) == expected);
    }
  }
  CHECK(placement.world_size() == next_rank);
}

/// Every entry has exactly the six keys, each of its type.
void check_schema(const nlohmann::json& entry) {
  CHECK(entry.is_object());
  CHECK(entry.size() == 6);
  CHECK(entry.at("node").is_string());
  CHECK(entry.at("role").is_string());
  for (const char* key : {"rank", "node_rank", "local_rank", "slot"}) {
    CHECK(entry.at(key).is_number_unsigned());
  }
}

}  // namespace

TEST_CASE("ranks fill slots host by host, also when hosts differ") {
  const Placement placement = place_ranks({host("a", 2), host("b", 4), host("c", 1)}, {}, 3);
  CHECK(placement.epoch == 3);
  CHECK(placement.world_size() == 7);
  CHECK(placement.ranks[2] == RankPlace{2, 1, 0, 0});
  CHECK(placement.ranks[6] == RankPlace{6, 2, 0, 0});
  check_invariants(placement);
}

TEST_CASE("-n takes the first slots; hosts left empty are not part of the job") {
  const std::vector<Host> hosts = {host("a", 2), host("b", 4), host("c", 1)};
  CHECK(place_ranks(hosts, 2, 0).nodes.size() == 1);
  CHECK(place_ranks(hosts, 3, 0).nodes.size() == 2);
  CHECK(place_ranks(hosts, 3, 0).nodes[1].ranks.size() == 1);
  CHECK(place_ranks(hosts, 7, 0).nodes.size() == 3);
}

TEST_CASE("more ranks than slots is an error with the totals") {
  CHECK(error_of({host("a", 2), host("b", 4)}, 7) ==
        "7 ranks were requested, but 2 hosts have only 6 slots\n"
        "  hint: lower -n, raise slots= in the hostfile, or add --oversubscribe");
  CHECK(error_of({host("a", 1)}, 2) ==
        "2 ranks were requested, but 1 host has only 1 slot\n"
        "  hint: lower -n, raise slots= in the hostfile, or add --oversubscribe");
  CHECK(error_of({host("a", 1)}, 1) == "none");
}

TEST_CASE("a job has at most 2^20 ranks") {
  const std::vector<Host> hosts(257, host("a", 4096));
  CHECK_THROWS_AS(place_ranks(hosts, {}, 0), ds::Error);
  CHECK(place_ranks(hosts, 1 << 20, 0).world_size() == 1 << 20);
}

TEST_CASE("the invariants of Placement hold for any hosts and any -n") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Host> hosts;
    int slots = 0;
    for (unsigned i = 0, count = 1 + random() % 8; i < count; ++i) {
      hosts.push_back(host("h" + std::to_string(i), static_cast<int>(1 + random() % 9)));
      slots += hosts.back().slots;
    }
    const int ranks = 1 + static_cast<int>(random() % static_cast<unsigned>(slots));
    const Placement placement = place_ranks(hosts, ranks, 0);
    CHECK(placement.world_size() == ranks);
    check_invariants(placement);
  }
}

TEST_CASE("the table of --dry-run") {
  CHECK(placement_table(place_ranks({host("node01", 1), host("a", 2)}, {}, 0)) ==
        "  RANK  NODE    NODE_RANK  LOCAL_RANK  SLOT\n"
        "     0  node01          0           0     0\n"
        "     1  a               1           0     0\n"
        "     2  a               1           1     1\n"
        "3 ranks on 2 nodes\n");
  CHECK(placement_table(place_ranks({host("a", 1)}, {}, 0)).ends_with("1 rank on 1 node\n"));
}

TEST_CASE("the JSON of --dry-run=json is an array of the five keys") {
  const Placement placement = place_ranks({host("a", 2), host("q\"\\\n", 1)}, {}, 0);
  const nlohmann::json array = nlohmann::json::parse(placement_json(placement));
  REQUIRE(array.is_array());
  REQUIRE(array.size() == 3);
  for (const nlohmann::json& entry : array) check_schema(entry);
  CHECK(array[1] == nlohmann::json{{"rank", 1},
                                   {"node", "a"},
                                   {"node_rank", 0},
                                   {"local_rank", 1},
                                   {"slot", 1},
                                   {"role", "default"}});
  CHECK(array[2].at("node") == "q\"\\\n");
}

namespace {

/// Returns "a: 0 1 | b: 2 3": the ranks of each node by local rank.
std::string seats(const Placement& placement) {
  std::string text;
  for (const Node& node : placement.nodes)
    text += fmt::format("{}{}: {}", text.empty() ? "" : " | ", node.host.name,
                        fmt::join(node.ranks, " "));
  return text;
}

struct Asked {
  PlacementRequest request;
  Asked& ranks(int count) {
    request.groups.back().ranks = count;
    return *this;
  }
  Asked& group(std::optional<int> count, const std::string& hosts = "") {
    GroupRequest group{.name = fmt::format("g{}", request.groups.size()), .ranks = count};
    if (!hosts.empty()) group.hosts = parse_host_picks("--host", hosts);
    request.groups.push_back(std::move(group));
    return *this;
  }
};

std::string placed(const std::string& hostfile, const PlacementRequest& request) {
  try {
    const Placement placement = place_groups(parse_hostfile(hostfile, "hosts"), request, 0);
    for (const RankPlace& place : placement.ranks) {
      const Node& node = placement.nodes[static_cast<std::size_t>(place.node_rank)];
      CHECK(node.ranks.at(static_cast<std::size_t>(place.local_rank)) == place.rank);
      const Group& group = placement.groups.at(static_cast<std::size_t>(place.group));
      CHECK(place.rank >= group.first_rank);
      CHECK(place.rank < group.first_rank + group.ranks);
    }
    return seats(placement);
  } catch (const ds::Error& error) {
    return error.what();
  }
}

const std::string kHosts = "a slots=3\nb slots=1\nc slots=2";

}  // namespace

TEST_CASE("ranks fill slots host by host, or go round the hosts") {
  Asked asked;
  CHECK(placed(kHosts, asked.request) == "a: 0 1 2 | b: 3 | c: 4 5");
  CHECK(placed(kHosts, asked.ranks(4).request) == "a: 0 1 2 | b: 3");
  asked.request.by_node = true;
  CHECK(placed(kHosts, asked.request) == "a: 0 3 | b: 1 | c: 2");
  CHECK(placed(kHosts, asked.ranks(6).request) == "a: 0 3 5 | b: 1 | c: 2 4");
}

TEST_CASE("--oversubscribe spreads what is too much, up to max-slots") {
  Asked asked;
  CHECK(placed(kHosts, asked.ranks(7).request) ==
        "7 ranks were requested, but 3 hosts have only 6 slots");
  asked.request.oversubscribe = true;
  CHECK(placed(kHosts, asked.request) == "a: 0 1 2 3 | b: 4 | c: 5 6");
  CHECK(placed(kHosts, asked.ranks(10).request) == "a: 0 1 2 3 4 | b: 5 6 | c: 7 8 9");
  const std::string bounded = "a slots=1 max-slots=2\nb slots=1 max-slots=1";
  CHECK(placed(bounded, asked.ranks(3).request) == "a: 0 1 | b: 2");
  CHECK(placed(bounded, asked.ranks(4).request) ==
        "4 ranks were requested, but 2 hosts have only 3 slots");
  CHECK(place_groups(parse_hostfile("a slots=2", "h"), asked.ranks(3).request, 0).ranks[2].slot ==
        0);
  CHECK(place_groups(parse_hostfile("a gpus=5,7", "h"), asked.ranks(3).request, 0).ranks[1].slot ==
        7);
}

TEST_CASE("numbers of ranks need not follow the way they are dealt out") {
  Asked asked;
  asked.request.rank_by_node = true;
  CHECK(placed(kHosts, asked.ranks(5).request) == "a: 0 3 4 | b: 1 | c: 2");
  asked.request.by_node = true;
  asked.request.rank_by_node = false;
  CHECK(placed(kHosts, asked.ranks(4).request) == "a: 0 1 | b: 2 | c: 3");
}

TEST_CASE("seq: a rank for each line, in the order of the lines") {
  Asked asked;
  asked.request.in_sequence = true;
  CHECK(placed("b\na\nb\nc", asked.request) == "b: 0 2 | a: 1 | c: 3");
  CHECK(placed("b\na\nb\nc slots=4", asked.ranks(3).request) == "b: 0 2 | a: 1");
  CHECK(placed("b\na\nb\nc", Asked(asked).ranks(1).group(2).request) == "b: 0 2 | a: 1");
  CHECK(placed("b\na", asked.ranks(3).request) ==
        "3 ranks were requested, but 2 hosts have only 2 slots");
  const std::vector<Host> picked = hosts_of_picks(parse_host_picks("--host", "a,b,a"));
  CHECK(seats(place_groups(picked, Asked(asked).request, 0)) == "a: 0 2 | b: 1");
}

TEST_CASE("rounds fill the slots of all hosts again, as Hydra does") {
  Asked asked;
  asked.request.oversubscribe = asked.request.rounds = true;
  CHECK(placed("a\nb\nc", asked.ranks(7).request) == "a: 0 3 6 | b: 1 4 | c: 2 5");
  CHECK(placed("a slots=2\nb", asked.ranks(8).request) == "a: 0 1 3 4 6 7 | b: 2 5");
  CHECK(placed("a\nb\nc", asked.ranks(2).group(3).request) == "a: 0 3 | b: 1 4 | c: 2");
  CHECK(placed("a slots=1 max-slots=2\nb", Asked(asked).ranks(9).request) ==
        "a: 0 2 | b: 1 3 4 5 6 7 8 9 10");
}

TEST_CASE("a program can have its own number of ranks on each host") {
  Asked asked;
  asked.ranks(1).group(4).request.groups[1].per_host = 2;
  CHECK(placed("a slots=4\nb slots=4", asked.request) == "a: 0 1 2 | b: 3 4");
  asked.request.groups[1].ranks = std::nullopt;
  CHECK(placed("a slots=4\nb slots=4", asked.request) == "a: 0 1 2 | b: 3 4");
}

TEST_CASE("--ppn sets the ranks of each host") {
  Asked asked;
  asked.request.ranks_per_host = 2;
  CHECK(placed("a slots=3\nb slots=2\nc", asked.request) == "a: 0 1 | b: 2 3 | c: 4 5");
  CHECK(placed("a slots=3\nb slots=2\nc", asked.ranks(3).request) == "a: 0 1 | b: 2");
  CHECK(placed(kHosts, asked.request) == "--ppn 2: b has 1 slot");
  asked.request.oversubscribe = true;
  CHECK(placed(kHosts, asked.ranks(6).request) == "a: 0 1 | b: 2 3 | c: 4 5");
  CHECK(placed("a slots=1 max-slots=1", asked.request) == "--ppn 2: a has 1 slot");
}

TEST_CASE("the limit of ranks on a host is named if it leaves too little room") {
  Asked asked;
  asked.ranks(4).request.ranks_per_host = 1;
  CHECK(placed(kHosts, asked.request) ==
        "4 ranks requested, but 3 hosts with at most 1 rank each have room for 3");
  Asked of_group;
  of_group.ranks(3).request.groups[0].per_host = 2;
  CHECK(placed("a slots=4", of_group.request) ==
        "3 ranks requested, but 1 host with at most 2 ranks each has room for 2");
}

TEST_CASE("groups take slots one after the other and number their ranks in their order") {
  Asked asked;
  asked.ranks(2).group(3);
  CHECK(placed(kHosts, asked.request) == "a: 0 1 2 | b: 3 | c: 4");
  asked.request.by_node = true;
  CHECK(placed(kHosts, asked.request) == "a: 0 2 4 | b: 1 | c: 3");
  Asked on_hosts;
  on_hosts.ranks(2).request.groups[0].hosts = parse_host_picks("--host", "c");
  on_hosts.group(std::nullopt);
  CHECK(placed(kHosts, on_hosts.request) == "a: 2 3 4 | b: 5 | c: 0 1");
  const Placement placement = place_groups(parse_hostfile(kHosts, "h"), on_hosts.request, 0);
  CHECK(placement.groups == std::vector<Group>{{"default", 0, 2}, {"g1", 2, 4}});
  CHECK(placed(kHosts, Asked().ranks(6).group(std::nullopt).request) ==
        "7 ranks were requested, but 3 hosts have only 6 slots");
  CHECK(placed(kHosts, Asked().ranks(1).group(2, "b:1").request) ==
        "2 ranks were requested, but 1 host has only 1 slot");
  CHECK(
      placed(kHosts, Asked().ranks(1).group(1, "z").request).starts_with("--host names host 'z'"));
}

TEST_CASE("a part of a job: numbers of the whole") {
  Placement part = place_ranks({host("a", 2)}, {}, 0);
  make_part(part, 1, 3, "x");
  CHECK(part.part == JobPart{1, 3, 2, 6, "x"});
  CHECK(placement_table(part) ==
        "  RANK  NODE  NODE_RANK  LOCAL_RANK  SLOT\n"
        "     2  a             1           0     0\n"
        "     3  a             1           1     1\n"
        "part of a job of 6 ranks on 3 nodes:\n"
        "2 ranks on 1 node\n");
  Placement two = place_ranks({host("a", 1), host("b", 1)}, {}, 0);
  CHECK_THROWS_WITH_AS(make_part(two, 0, 2, ""),
                       "--part 0/2 needs one node with one program, not 2 nodes with 1 program",
                       ds::Error);
}

TEST_CASE("one node of the hosts alone") {
  Placement part = place_ranks({host("a", 2), host("b", 3)}, {}, 0);
  cut_part(part, 1);
  CHECK(part.part == JobPart{1, 2, 2, 5, ""});
  CHECK(part.nodes.front().host.name == "b");
  CHECK(part.nodes.front().ranks == std::vector<int>{0, 1, 2});
  CHECK(part.shown_rank(part.ranks.back().rank) == 4);
  CHECK(part.ranks.back() == RankPlace{2, 0, 2, 2, 0});
  Placement none = place_ranks({host("a", 2)}, {}, 0);
  CHECK_THROWS_WITH_AS(cut_part(none, 1), "--part 1 is out of range", ds::Error);
}
