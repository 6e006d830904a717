#include "launcher/hosts/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

constexpr int kMostRounds = 1 << 16;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;

/// Place of one rank before nodes have numbers.
struct Seat {
  std::size_t host = 0;
  int group = 0;
};

class Placer {
 public:
  Placer(const std::vector<Host>& hosts, const PlacementRequest& request)
      : hosts_(hosts), request_(request), used_(hosts.size()) {
    for (const Host& host : hosts) {
      DS_ASSERT(host.slots > 0, "the caller has asked hosts with kAutoSlots");
      slots_.push_back(slots_of(host));
    }
  }

  Placement place(std::uint64_t epoch) {
    const std::vector<std::int64_t> counts = group_sizes();
    Placement placement{
        .epoch = epoch, .first_epoch = epoch, .nodes = {}, .ranks = {}, .groups = {}};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      placement.groups.push_back({.name = request_.groups[i].name,
                                  .first_rank = static_cast<int>(seats_.size()),
                                  .ranks = static_cast<int>(counts[i])});
      seat_group(static_cast<int>(i), counts[i]);
    }
    number(placement);
    return placement;
  }

 private:
  /// Returns how many ranks a host takes without oversubscription.
  [[nodiscard]] int slots_of(const Host& host) const {
    if (!request_.ranks_per_host) return host.slots;
    const int wanted = *request_.ranks_per_host;
    const bool room =
        host.bare || host.slots >= wanted || (request_.oversubscribe && wanted <= most_on(host));
    if (room) return wanted;
    throw Error(ErrorKind::config,
                fmt::format("--ppn {}: {} has {}", wanted, host.name, counted(host.slots, "slot")),
                "raise slots= in the hostfile, or add --oversubscribe");
  }

  [[nodiscard]] static int most_on(const Host& host) {
    return host.max_slots > 0 ? host.max_slots : std::numeric_limits<int>::max();
  }

  [[nodiscard]] std::int64_t total_slots() const {
    return std::accumulate(slots_.begin(), slots_.end(), std::int64_t{0});
  }

  /// Returns the number of ranks of each group. A group without a number gets the remaining slots.
  std::vector<std::int64_t> group_sizes() {
    std::vector<std::int64_t> counts;
    std::int64_t asked = 0;
    for (const GroupRequest& group : request_.groups) {
      counts.push_back(group.ranks.value_or(0));
      asked += counts.back();
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const GroupRequest& group = request_.groups[i];
      if (group.ranks) continue;
      counts[i] = total_slots() - asked;
      if (group.per_host) {
        const std::vector<int> room = room_for(group, request_.oversubscribe);
        counts[i] = std::accumulate(room.begin(), room.end(), std::int64_t{0});
      }
      if (counts[i] < 1) too_few(asked + 1, total_slots(), hosts_.size());
      asked += counts[i];
    }
    if (asked > kMaxRanks)
      throw Error(ErrorKind::config,
                  fmt::format("{} ranks requested; a job can have at most {}", asked, kMaxRanks),
                  "lower -n or the slots of the hosts");
    return counts;
  }

  [[noreturn]] static void too_few(std::int64_t ranks, std::int64_t slots, std::size_t hosts) {
    throw Error(
        ErrorKind::config,
        fmt::format("{} {} requested, but {} {} only {}", counted(ranks, "rank"),
                    ranks == 1 ? "was" : "were", counted(static_cast<std::int64_t>(hosts), "host"),
                    hosts == 1 ? "has" : "have", counted(slots, "slot")),
        "lower -n, raise slots= in the hostfile, or add --oversubscribe");
  }

  /// Returns how many more ranks each host may take for this group; 0 if it may not run there.
  [[nodiscard]] std::vector<int> room_for(const GroupRequest& group, bool beyond_slots) const {
    std::vector<int> room(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      room[i] = std::max((beyond_slots ? most_on(hosts_[i]) : slots_[i]) - used_[i], 0);
    if (group.per_host)
      for (int& one : room) one = std::min(one, *group.per_host);
    if (group.hosts.empty()) return room;
    const std::map<std::size_t, int> picked = find_picked(hosts_, group.hosts);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const auto found = picked.find(i);
      const bool limited = found == picked.end() || found->second != kAutoSlots;
      if (limited) room[i] = found == picked.end() ? 0 : std::min(room[i], found->second);
    }
    return room;
  }

  /// Returns the room of hosts whose slots are filled `again` times more.
  [[nodiscard]] std::vector<int> room_in_round(const GroupRequest& group, int again) const {
    std::vector<int> room = room_for(group, true);
    for (std::size_t i = 0; i < room.size(); ++i)
      room[i] = static_cast<int>(
          std::clamp<std::int64_t>(std::int64_t{slots_[i]} * (again + 1) - used_[i], 0, room[i]));
    return room;
  }

  void seat_group(int index, std::int64_t count) {
    const GroupRequest& group = request_.groups[static_cast<std::size_t>(index)];
    std::vector<std::size_t> round;  // hosts in the order in which they were taken
    std::int64_t left = count;
    left -= fill(room_for(group, false), left, request_.by_node, round);
    const bool in_rounds = request_.rounds && !request_.by_node;
    for (int again = 1; left > 0 && request_.oversubscribe;) {
      const std::int64_t more = in_rounds ? fill(room_in_round(group, again++), left, false, round)
                                          : fill(room_for(group, true), left, true, round);
      left -= more;
      if (more == 0 && (!in_rounds || again > kMostRounds)) break;
    }
    if (left > 0)
      too_few(count, count - left,
              group.hosts.empty() ? hosts_.size() : find_picked(hosts_, group.hosts).size());
    const bool deals = request_.rank_by_node.value_or(request_.by_node);
    if ((!request_.by_node || !deals) && !in_rounds) std::sort(round.begin(), round.end());
    if (!request_.by_node && !in_rounds && deals) deal(round);
    for (const std::size_t host : round) seats_.push_back({host, index});
  }

  /// Orders the seats of sorted hosts so that each host has one in every round.
  static void deal(std::vector<std::size_t>& round) {
    std::vector<std::pair<std::size_t, std::size_t>> dealt;  // round and host
    for (std::size_t i = 0, first = 0; i < round.size(); ++i) {
      if (round[i] != round[first]) first = i;
      dealt.emplace_back(i - first, round[i]);
    }
    std::ranges::sort(dealt);
    std::ranges::transform(dealt, round.begin(), [](const auto& seat) { return seat.second; });
  }

  /// Takes up to `wanted` seats, host by host or one per host in turn. Returns the number taken.
  std::int64_t fill(std::vector<int> room, std::int64_t wanted, bool in_turn,
                    std::vector<std::size_t>& round) {
    std::int64_t taken = 0;
    for (bool found = true; found && taken < wanted;) {
      found = false;
      for (std::size_t host = 0; host < room.size() && taken < wanted; ++host) {
        const auto here = static_cast<int>(
            std::min<std::int64_t>(in_turn ? std::min(room[host], 1) : room[host], wanted - taken));
        if (here == 0) continue;
        found = true;
        room[host] -= here;
        used_[host] += here;
        taken += here;
        round.insert(round.end(), static_cast<std::size_t>(here), host);
      }
    }
    return taken;
  }

  /// Numbers the ranks, and turns hosts with seats into nodes.
  void number(Placement& placement) const {
    std::vector<int> node_of(hosts_.size(), -1);
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (used_[host] == 0) continue;
      node_of[host] = static_cast<int>(placement.nodes.size());
      placement.nodes.push_back({hosts_[host], node_of[host], {}});
    }
    for (const Seat& seat : seats_) {
      Node& node = placement.nodes[static_cast<std::size_t>(node_of[seat.host])];
      const Host& host = node.host;
      const int local = static_cast<int>(node.ranks.size());
      const auto slot = static_cast<std::size_t>(local);
      const int number = host.devices.empty() ? local % slots_[seat.host]
                                              : host.devices[slot % host.devices.size()];
      node.ranks.push_back(placement.world_size());
      placement.ranks.push_back(
          {placement.world_size(), node.node_rank, local, number, seat.group});
    }
  }

  const std::vector<Host>& hosts_;
  const PlacementRequest& request_;
  std::vector<int> slots_;  // by host
  std::vector<int> used_;   // by host
  std::vector<Seat> seats_;
};

}  // namespace

Placement place_groups(const std::vector<Host>& hosts, const PlacementRequest& request,
                       std::uint64_t epoch) {
  return Placer(hosts, request).place(epoch);
}

void make_part(Placement& placement, int node_rank, int nodes, std::string run_id) {
  if (placement.nodes.size() > 1 || placement.groups.size() > 1)
    throw Error(ErrorKind::usage,
                fmt::format("--part {}/{} needs one node with one program, not {} with {}",
                            node_rank, nodes, counted(std::ssize(placement.nodes), "node"),
                            counted(std::ssize(placement.groups), "program")),
                "start a separate launcher on each node of such a job");
  const int ranks = placement.world_size();
  if (static_cast<std::int64_t>(ranks) * nodes > kMaxRanks)
    throw Error(
        ErrorKind::config,
        fmt::format("{} ranks on each of {} nodes requested; a job can have at most {} ranks",
                    ranks, nodes, kMaxRanks),
        "lower -n or the number of nodes");
  placement.part = JobPart{node_rank, nodes, node_rank * ranks, nodes * ranks, std::move(run_id)};
}

void cut_part(Placement& placement, int node_rank) {
  const auto nodes = static_cast<int>(placement.nodes.size());
  if (node_rank >= nodes)
    throw Error(ErrorKind::usage, fmt::format("--part {} is out of range", node_rank),
                fmt::format("the hosts give {}, numbered from 0", counted(nodes, "node")));
  Node node = std::move(placement.nodes[static_cast<std::size_t>(node_rank)]);
  const int first = node.ranks.front();
  const auto ranks = static_cast<int>(node.ranks.size());
  if (placement.groups.size() > 1 || node.ranks.back() != first + ranks - 1)
    throw Error(ErrorKind::usage,
                fmt::format("--part {} needs one program whose ranks fill one host "
                            "after the other",
                            node_rank),
                "remove --map-by node");
  placement.part = JobPart{node_rank, nodes, first, placement.world_size(), {}};
  std::vector<RankPlace> places;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlace place = placement.ranks[static_cast<std::size_t>(first + rank)];
    place.rank = rank;
    place.node_rank = 0;
    places.push_back(place);
    node.ranks[static_cast<std::size_t>(rank)] = rank;
  }
  node.node_rank = 0;
  placement.ranks = std::move(places);
  placement.groups.front().first_rank = 0;
  placement.groups.front().ranks = ranks;
  placement.nodes.clear();
  placement.nodes.push_back(std::move(node));
}

std::vector<Host> take_spares(std::vector<Host>& hosts, int count) {
  const auto wanted = static_cast<std::size_t>(count);
  if (wanted == 0) return {};
  if (wanted >= hosts.size())
    throw Error(
        ErrorKind::config,
        fmt::format("--spares {} leaves no host for the job ({} given)", wanted, hosts.size()),
        "give more hosts or fewer spares");
  std::vector<Host> spares(hosts.end() - count, hosts.end());
  hosts.resize(hosts.size() - wanted);
  return spares;
}

void check_spares(const Placement& placement, const std::vector<Host>& spares) {
  std::size_t least = SIZE_MAX;
  for (const Node& node : placement.nodes)
    least = std::min({least, node.ranks.size(), static_cast<std::size_t>(node.host.slots)});
  for (const Host& spare : spares) {
    if (static_cast<std::size_t>(spare.slots) >= least) continue;
    throw Error(
        ErrorKind::config,
        fmt::format("the spare host {} has {}, but every node of the job has at least {} ranks",
                    spare.name, counted(spare.slots, "slot"), least),
        "--spares takes the last hosts: put hosts with enough slots there");
  }
}

}  // namespace ds::launcher
