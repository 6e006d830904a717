#include "launcher/cli/rank_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/base/split.h"
#include "engine/base/whole_number.h"

namespace ds::launcher {

namespace {

constexpr int kMostPerPart = 1 << 14;

struct PartName {
  std::string_view name;
  Level level;
};
constexpr PartName kParts[] = {{"socket", Level::socket}, {"package", Level::socket},
                               {"numa", Level::numa},     {"l3cache", Level::l3cache},
                               {"core", Level::core},     {"hwthread", Level::hwthread}};

[[noreturn]] void refuse(const GivenOption& given, std::string_view what) {
  usage_error(fmt::format("{} '{}': {}", given.name, given.value, what),
              "for example slot, node, numa, socket:pe=2 or ppr:2:socket");
}

std::optional<Level> part_named(std::string_view name) {
  const auto* const found = std::ranges::find(kParts, name, &PartName::name);
  return found == std::end(kParts) ? std::nullopt : std::optional(found->level);
}

int positive(const GivenOption& given, std::string_view digits) {
  const std::optional<int> number = whole_number<int>(digits);
  if (!number || *number < 1 || *number > kMostPerPart)
    refuse(given, fmt::format("'{}' must be a number from 1 to {}", digits, kMostPerPart));
  return *number;
}

void set_modifier(RankMap& map, const GivenOption& given, std::string_view word) {
  if (word.starts_with("pe=")) {
    map.width = positive(given, word.substr(3));
  } else if (word == "span") {
    map.span = true;
  } else if (word == "oversubscribe") {
    map.oversubscribe = true;
  } else if (word != "nooversubscribe") {
    refuse(given,
           fmt::format("'{}' is not supported; known are pe=N, span and oversubscribe", word));
  }
}

Level level_of(BindTo to) {
  switch (to) {
    case BindTo::hwthread:
      return Level::hwthread;
    case BindTo::core:
      return Level::core;
    case BindTo::l3cache:
      return Level::l3cache;
    case BindTo::socket:
      return Level::socket;
    default:
      return Level::numa;
  }
}

}  // namespace

void set_map_by(RankMap& map, const GivenOption& given) {
  std::string text = given.value;
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  std::vector<std::string_view> words = split(text, ':');
  std::size_t at = 1;
  if (words[0] == "ppr") {
    if (words.size() < 3) refuse(given, "ppr needs a number and a part, as in ppr:2:socket");
    const int count = positive(given, words[1]);
    map.part = part_named(words[2]);
    if (words[2] == "node") {
      map.per_host = count;
    } else if (map.part && *map.part != Level::l3cache) {
      map.per_part = count;
    } else {
      refuse(given, "ppr counts ranks of each node, socket, numa, core or hwthread");
    }
    at = 3;
  } else if (words[0] == "seq") {
    map.in_sequence = true;
  } else if (words[0] == "slot" || words[0] == "node" || words[0].empty()) {
    map.map_by = words[0] == "node" ? MapBy::node : MapBy::slot;
  } else {
    map.part = part_named(words[0]);
    if (!map.part)
      refuse(given,
             "it must be slot, node, seq, socket, numa, l3cache, core, hwthread or ppr:N:PART");
  }
  for (; at < words.size(); ++at) set_modifier(map, given, words[at]);
}

Binding binding_for(const RankMap& map, int ranks) {
  if (!map.binds()) return {};
  if (map.bind == BindTo::cores) return {.bind = Bind::cores};
  if (map.bind == BindTo::numa && !map.part && map.width == 0) return {.bind = Bind::numa};
  const bool by_default = map.bind == BindTo::openmpi;
  LevelBinding level{.per_part = static_cast<std::uint16_t>(map.per_part),
                     .fill = map.rank_by == RankBy::fill};
  if (map.bind && !by_default) {
    level.to = level_of(*map.bind);
  } else {
    const Level usual = ranks <= 2 ? Level::core : Level::numa;
    const bool by_part = map.part && !(by_default && map.per_part > 0);
    level.to = map.width > 0 ? Level::core : by_part ? *map.part : usual;
  }
  level.map = map.part.value_or(Level::node);
  level.width = static_cast<std::uint16_t>(std::max(map.width, 1));
  // A core has no room for two cores: such ranks take the next free ones of the node.
  if (level.width > 1 && level.map >= level.to) level.map = Level::node;
  return {.bind = Bind::level, .level = level, .by_default = by_default};
}

}  // namespace ds::launcher
