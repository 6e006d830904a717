// Placement as a table and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {
namespace {

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

const std::string& role_of(const Placement& placement, const RankPlace& place) {
  return placement.groups[static_cast<std::size_t>(place.group)].name;
}

const std::string& name_of(const Placement& placement, const RankPlace& place) {
  return placement.nodes[static_cast<std::size_t>(place.node_rank)].host.name;
}

}  // namespace

std::string placement_table(const Placement& placement) {
  std::size_t width = std::string_view("NODE").size();
  for (const Node& node : placement.nodes) width = std::max(width, node.host.name.size());
  const bool roles = placement.groups.size() > 1;
  std::string table = fmt::format("{:>6}  {:<{}}  {:>9}  {:>10}  {:>4}{}\n", "RANK", "NODE", width,
                                  "NODE_RANK", "LOCAL_RANK", "SLOT", roles ? "  ROLE" : "");
  for (const RankPlace& place : placement.ranks) {
    table +=
        fmt::format("{:>6}  {:<{}}  {:>9}  {:>10}  {:>4}{}\n", placement.shown_rank(place.rank),
                    name_of(placement, place), width, placement.shown_node(place.node_rank),
                    place.local_rank, place.slot, roles ? "  " + role_of(placement, place) : "");
  }
  if (placement.part)
    table += fmt::format("part of a job of {} ranks on {} nodes:\n", placement.shown_world(),
                         placement.shown_nodes());
  return table + fmt::format("{} on {}\n", counted(std::ssize(placement.ranks), "rank"),
                             counted(std::ssize(placement.nodes), "node"));
}

std::string placement_json(const Placement& placement) {
  std::string json = "[";
  for (const RankPlace& place : placement.ranks) {
    json += fmt::format(
        R"({}
  {{"rank": {}, "node": {}, "node_rank": {}, "local_rank": {}, "slot": {}, "role": {}}})",
        place.rank == 0 ? "" : ",", placement.shown_rank(place.rank),
        json_string(name_of(placement, place)), placement.shown_node(place.node_rank),
        place.local_rank, place.slot, json_string(role_of(placement, place)));
  }
  return json + "\n]\n";
}

}  // namespace ds::launcher
