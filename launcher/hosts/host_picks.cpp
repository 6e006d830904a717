// Parsers for the values of --host, --include and --exclude.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "engine/base/text_error.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

/// Calls `read` for each part, and turns its errors into usage errors.
template <class Read>
auto read_parts(const SourceLine& line, std::string_view separator, std::string_view form,
                Read read) {
  std::vector<decltype(read(Word{}))> picks;
  std::size_t names = 0;
  try {
    for (const Word& part : split_outside_brackets(line.text, separator)) {
      picks.push_back(read(part));
      names += picks.back().names.size();
      if (names > kMaxHosts)
        throw text_error(line, part.offset, fmt::format("more than {} hosts", kMaxHosts), {});
    }
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.what(), std::string(form));
  }
  return picks;
}

HostPick read_host_pick(const SourceLine& line, Word part) {
  HostPick pick{.text = std::string(part.text), .names = {}};
  if (part.text.starts_with("+e"))
    throw text_error(line, part.offset,
                     "+e is not supported: dslaunch does not know which nodes are empty", {});
  pick.is_expression =
      part.text.starts_with('@') || part.text.find_first_of("!&^") != std::string_view::npos;
  if (pick.is_expression) return pick;
  HostWord host;
  if (part.text.starts_with("+n")) {
    const std::size_t colon = part.text.find(':');
    if (colon != std::string_view::npos) host.suffix = part.part(colon + 1);
    const Word number = part.part(0, colon).part(2);
    pick.number = read_number(line, number, "+n", static_cast<int>(kMaxHosts));
  } else {
    host = read_host_word(line, part);
  }
  pick.names = std::move(host.names);
  if (host.user) pick.user = host.user->text;
  if (!host.suffix) return pick;
  if (host.suffix->text == "*" || host.suffix->text == "auto") {
    pick.slots = kAutoSlots;
    return pick;
  }
  pick.slots = read_number(line, *host.suffix, "slots", kMaxSlots);
  if (*pick.slots == 0)
    throw text_error(line, host.suffix->offset, "a host must have at least 1 slot", {});
  return pick;
}

SlotPick read_slot_pick(const SourceLine& line, Word part) {
  HostWord host = read_host_word(line, part);
  SlotPick pick{.text = std::string(part.text), .names = std::move(host.names)};
  if (!host.suffix) return pick;
  const std::vector<int> slots = read_number_list(line, *host.suffix, "slots", kMaxSlots - 1);
  const std::set<int> sorted(slots.begin(), slots.end());
  pick.slots.assign(sorted.begin(), sorted.end());
  return pick;
}

}  // namespace

std::vector<HostPick> parse_host_picks(std::string_view option, std::string_view value) {
  const SourceLine line = {option, 0, value};
  return read_parts(line, ",",
                    "give HOST[:SLOTS] separated by commas, for example node1:4,node[2-3],node4:*",
                    [&](Word part) { return read_host_pick(line, part); });
}

std::vector<SlotPick> parse_slot_picks(std::string_view option, std::string_view value) {
  const SourceLine line = {option, 0, value};
  return read_parts(line, "@",
                    "give HOST[:SLOT,SLOT...] separated by @, for example worker-0@worker-1:0,2",
                    [&](Word part) { return read_slot_pick(line, part); });
}

}  // namespace ds::launcher
