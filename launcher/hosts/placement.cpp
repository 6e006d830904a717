// Fills slots host by host, and prints the map.
#include "launcher/hosts/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;

std::int64_t total_slots(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), std::int64_t{0},
                         [](std::int64_t sum, const Host& host) { return sum + host.slots; });
}

/// How many ranks the job has; throws when the hosts cannot hold them.
std::int64_t world_size_of(const std::vector<Host>& hosts, std::optional<int> rank_count) {
  const std::int64_t slots = total_slots(hosts);
  if (rank_count && *rank_count > slots) {
    throw Error(ErrorKind::config,
                fmt::format("{} ranks were asked for, but {} host{} {} only {} slot{}", *rank_count,
                            hosts.size(), hosts.size() == 1 ? "" : "s",
                            hosts.size() == 1 ? "has" : "have", slots, slots == 1 ? "" : "s"),
                "lower -n, or raise slots= in the hostfile");
  }
  const std::int64_t ranks = rank_count ? *rank_count : slots;
  if (ranks > kMaxRanks) {
    throw Error(ErrorKind::config,
                fmt::format("{} ranks; at most {} are possible in a job", ranks, kMaxRanks),
                "lower -n or the slots of the hosts");
  }
  return ranks;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

const std::string& name_of(const Placement& placement, const RankPlace& place) {
  return placement.nodes[static_cast<std::size_t>(place.node_rank)].host.name;
}

}  // namespace

Placement place_ranks(const std::vector<Host>& hosts, std::optional<int> rank_count,
                      std::uint64_t epoch) {
  DS_ASSERT(!rank_count || *rank_count > 0, "the command line refuses -n 0");
  std::int64_t left = world_size_of(hosts, rank_count);
  const int world_size = static_cast<int>(left);
  Placement placement{.epoch = epoch, .nodes = {}, .ranks = {}, .groups = {}};
  placement.groups.push_back({.first_rank = 0, .ranks = world_size});
  for (const Host& host : hosts) {
    if (left == 0) break;
    const int here = static_cast<int>(std::min<std::int64_t>(host.slots, left));
    const int node_rank = static_cast<int>(placement.nodes.size());
    Node& node = placement.nodes.emplace_back(Node{host, node_rank, {}});
    for (int local = 0; local < here; ++local) {
      node.ranks.push_back(placement.world_size());
      placement.ranks.push_back({placement.world_size(), node_rank, local, /*slot=*/local});
    }
    left -= here;
  }
  return placement;
}

std::string placement_table(const Placement& placement) {
  std::size_t width = std::string_view("NODE").size();
  for (const Node& node : placement.nodes) width = std::max(width, node.host.name.size());
  std::string table = fmt::format("{:>6}  {:<{}}  {:>9}  {:>10}  {:>4}\n", "RANK", "NODE", width,
                                  "NODE_RANK", "LOCAL_RANK", "SLOT");
  for (const RankPlace& place : placement.ranks) {
    table +=
        fmt::format("{:>6}  {:<{}}  {:>9}  {:>10}  {:>4}\n", place.rank, name_of(placement, place),
                    width, place.node_rank, place.local_rank, place.slot);
  }
  return table + fmt::format("{} rank{} on {} node{}\n", placement.ranks.size(),
                             placement.ranks.size() == 1 ? "" : "s", placement.nodes.size(),
                             placement.nodes.size() == 1 ? "" : "s");
}

std::string placement_json(const Placement& placement) {
  std::string json = "[";
  for (const RankPlace& place : placement.ranks) {
    json += fmt::format(
        R"({}
  {{"rank": {}, "node": {}, "node_rank": {}, "local_rank": {}, "slot": {}}})",
        place.rank == 0 ? "" : ",", place.rank, json_string(name_of(placement, place)),
        place.node_rank, place.local_rank, place.slot);
  }
  return json + "\n]\n";
}

}  // namespace ds::launcher
