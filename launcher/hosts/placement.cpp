#include "launcher/hosts/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace ds::launcher {
namespace {

constexpr int kMostRounds = 1 << 16;

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
      counts[i] = (request_.in_sequence ? std::ssize(sequence()) : total_slots()) - asked;
      if (group.per_host) {
        const std::vector<int> room = room_for(group, request_.oversubscribe);
        counts[i] = std::accumulate(room.begin(), room.end(), std::int64_t{0});
      }
      if (counts[i] < 1) too_few(asked + 1, total_slots(), hosts_.size());
      asked += counts[i];
    }
    if (asked > kMostRanks)
      throw Error(ErrorKind::config,
                  fmt::format("{} ranks requested; a job can have at most {}", asked, kMostRanks),
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

  [[noreturn]] static void too_few_on_each(std::int64_t ranks, std::int64_t room, std::size_t hosts,
                                           int limit) {
    throw Error(ErrorKind::config,
                fmt::format("{} requested, but {} with at most {} each {} room for {}",
                            counted(ranks, "rank"), counted(static_cast<std::int64_t>(hosts), "host"),
                            counted(limit, "rank"), hosts == 1 ? "has" : "have", room),
                "lower -n, or raise the number of ranks on each host (--ppn, --map-by ppr:N)");
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

  /// Returns the hosts in the order in which the list names them; a host may come again.
  [[nodiscard]] std::vector<std::size_t> sequence() const {
    std::vector<std::pair<int, std::size_t>> turns;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      for (const int turn : hosts_[i].turns) turns.emplace_back(turn, i);
      if (hosts_[i].turns.empty()) turns.emplace_back(static_cast<int>(i), i);
    }
    std::ranges::sort(turns);
    std::vector<std::size_t> hosts;
    for (const auto& [turn, host] : turns) hosts.push_back(host);
    return hosts;
  }

  /// Seats the next ranks of --map-by seq.
  void seat_in_sequence(int index, std::int64_t count) {
    const std::vector<std::size_t> hosts = sequence();
    for (std::int64_t i = 0; i < count; ++i) {
      if (seats_.size() == hosts.size())
        too_few(std::ssize(seats_) + count - i, std::ssize(hosts), hosts_.size());
      const std::size_t host = hosts[seats_.size()];
      ++used_[host];
      seats_.push_back({host, index});
    }
  }

  void seat_group(int index, std::int64_t count) {
    if (request_.in_sequence) return seat_in_sequence(index, count);
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
    if (left > 0) {
      const std::size_t hosts =
          group.hosts.empty() ? hosts_.size() : find_picked(hosts_, group.hosts).size();
      const std::optional<int> limit = group.per_host ? group.per_host : request_.ranks_per_host;
      if (limit) too_few_on_each(count, count - left, hosts, *limit);
      too_few(count, count - left, hosts);
    }
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
