// Output of the ranks and of dslaunch itself.
#include "launcher/cli/options_logs.h"

#include <fmt/format.h>

#include <charconv>

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kOnNodes = "node:";

/// 64M, 1G, 512K, 1000000.
std::uint64_t size_value(const GivenOption& given) {
  std::uint64_t value = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  const bool fits = value <= (std::uint64_t{1} << 50) >> shift;
  if (error != std::errc() || (shift == 0 && !unit.empty()) || !fits)
    usage_error(fmt::format("{} needs a size, not '{}'", given.name, given.value),
                "as in 64M, 1G, 512K; bytes without a letter");
  return value << shift;
}

StdinChoice stdin_value(const GivenOption& given) {
  using Kind = StdinChoice::Kind;
  if (given.value == "none") return {};
  if (given.value == "all") return {.kind = Kind::all};
  int rank = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, rank);
  if (given.value.empty() || stop != end || error != std::errc() || rank < 0)
    usage_error(fmt::format("{} needs none, all or a rank, not '{}'", given.name, given.value));
  return {.kind = Kind::one, .rank = rank};
}

void set_folder(LogPolicy& policy, const GivenOption& given) {
  std::string_view folder = given.value;
  policy.folder_on_nodes = folder.starts_with(kOnNodes);
  if (policy.folder_on_nodes) folder.remove_prefix(kOnNodes.size());
  if (folder.empty())
    usage_error(fmt::format("{} '{}' names no folder", given.name, given.value),
                "DIR for one on this machine, node:DIR for one on each node");
  policy.folder = folder;
}

constexpr OptionDef<LogOptions> kLogOptions[] = {
    {{"--prefix", "TEXT",
      "before each line (default: '[{rank}] '); known: {rank} {local_rank}\n"
      "{node} {node_rank} {host} {group} {stream} {time} {elapsed}"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.prefix = PrefixTemplate::parse(given.value);
     }},
    {{"--show", "LIST",
      "output that is shown: ranks (0), ranges (0-7), last, err (standard\n"
      "error of any rank), all (default), none; joined by commas"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.show = ShowChoice::parse(given.value);
     }},
    {{"--fold", "", "show equal lines that ranks write within 250 ms as one"},
     [](LogOptions& part, const GivenOption&) { part.policy.fold = true; }},
    {{"--timestamps", "", "begin each line with the time, on the clock of this machine"},
     [](LogOptions& part, const GivenOption&) { part.policy.timestamps = true; }},
    {{"--color", "auto|always|never", "prefixes in colour (default: auto, on terminals)"},
     [](LogOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 3> kNames = {"auto", "always", "never"};
       part.policy.colour = choice_value<ColourChoice>(given, kNames);
     }},
    {{"--log-dir", "DIR",
      "keep what each rank writes in DIR/rank_0000.log ...; node:DIR: on\n"
      "its own node; {job} and {node} in DIR are replaced"},
     [](LogOptions& part, const GivenOption& given) { set_folder(part.policy, given); }},
    {{"--backpressure", "auto|block|spool|drop",
      "when the output is read too slowly: drop (old lines), spool (keep\n"
      "all on the nodes, then wait), block (ranks wait), auto (default:\n"
      "drop for a terminal, else spool)"},
     [](LogOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 4> kNames = {"auto", "block", "spool", "drop"};
       part.policy.backpressure = choice_value<Backpressure>(given, kNames);
     }},
    {{"--spool", "SIZE",
      "room on each node for output that waits: 64M, 1G (default: 256M, or\n"
      "16M if old lines are dropped)"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.spool_bytes = size_value(given);
     }},
    {{"--stdin", "none|all|RANK",
      "who reads the standard input of dslaunch (default: none); all: each\n"
      "a copy; the others have /dev/null"},
     [](LogOptions& part, const GivenOption& given) { part.policy.input = stdin_value(given); }},
    {{"--pty", "",
      "standard output of the ranks is a terminal, for programs that hold\n"
      "back what they write to a pipe"},
     [](LogOptions& part, const GivenOption&) { part.policy.pty = true; }},
    {{"--log-level", "error|warn|info|debug", "of dslaunch itself (default: info)"},
     [](LogOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 4> kNames = {"error", "warn", "info", "debug"};
       part.log_level = choice_value<LogLevel>(given, kNames);
     }},
};

}  // namespace

std::span<const OptionDef<LogOptions>> log_options() { return kLogOptions; }

}  // namespace ds::launcher
