// Options of output: table and checks for the ranks' output and dslaunch's own messages.
#include <fmt/format.h>

#include <charconv>

#include "engine/base/whole_number.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kOnNodes = "node:";

/// Reads 64M, 1G, 512K or 1000000.
std::uint64_t size_value(const GivenOption& given) {
  std::uint64_t value = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  const bool fits = value <= (std::uint64_t{1} << 50) >> shift;
  if (error != std::errc() || (shift == 0 && !unit.empty()) || !fits)
    usage_error(fmt::format("{} must be a size, not '{}'", given.name, given.value),
                "for example 64M, 1G, 512K; a plain number is bytes");
  return value << shift;
}

StdinChoice stdin_value(const GivenOption& given) {
  using Kind = StdinChoice::Kind;
  if (given.value == "none") return {};
  if (given.value == "all") return {.kind = Kind::all};
  const std::optional<int> rank = whole_number<int>(given.value);
  if (!rank || *rank < 0)
    usage_error(fmt::format("{} must be none, all or a rank, not '{}'", given.name, given.value));
  return {.kind = Kind::one, .rank = *rank};
}

void set_folder(LogPolicy& policy, const GivenOption& given) {
  std::string_view folder = given.value;
  policy.folder_on_nodes = folder.starts_with(kOnNodes);
  if (policy.folder_on_nodes) folder.remove_prefix(kOnNodes.size());
  if (folder.empty())
    usage_error(fmt::format("{} '{}' does not name a folder", given.name, given.value),
                "use DIR for a folder on this machine, node:DIR for one on each node");
  policy.folder = folder;
}

constexpr OptionDef<LogOptions> kLogOptions[] = {
    {{"--prefix", "TEXT",
      "Text before each line (default: '[{rank}] '); fields: {rank}\n"
      "{local_rank} {node} {node_rank} {host} {group} {stream} {time} {elapsed}"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.prefix = PrefixTemplate::parse(given.value);
     }},
    {{"--show", "LIST",
      "Output to show: ranks (0), ranges (0-7), last, err (standard error of\n"
      "any rank), all or none, separated by commas (default: all)"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.show = ShowChoice::parse(given.value);
     }},
    {{"--fold", "", "Show equal lines that ranks write within 250 ms as one line"},
     set_flag<&LogOptions::policy, &LogPolicy::fold>},
    {{"--timestamps", "", "Begin each line with the time, by the clock of this machine"},
     set_flag<&LogOptions::policy, &LogPolicy::timestamps>},
    {{"--color", "auto|always|never", "Color the prefixes (default: auto, on terminals)"},
     set_choice<"auto|always|never", &LogOptions::policy, &LogPolicy::colour>},
    {{"--log-dir", "DIR",
      "Write the output of each rank to DIR/rank_0000.log and so on; node:DIR\n"
      "is on the rank's node; {job} and {node} in DIR are replaced"},
     [](LogOptions& part, const GivenOption& given) { set_folder(part.policy, given); }},
    {{"--backpressure", "auto|block|spool|drop",
      "What to do if output is read too slowly: drop old lines, spool (keep\n"
      "all on the nodes, then wait), block (ranks wait), auto (drop for a\n"
      "terminal, otherwise spool) (default: auto)"},
     set_choice<"auto|block|spool|drop", &LogOptions::policy, &LogPolicy::backpressure>},
    {{"--spool", "SIZE",
      "Space on each node for waiting output: 64M, 1G (default: 256M, or 16M\n"
      "if old lines are dropped)"},
     [](LogOptions& part, const GivenOption& given) {
       part.policy.spool_bytes = size_value(given);
     }},
    {{"--stdin", "none|all|RANK",
      "Ranks that receive the launcher's standard input; all: each gets a\n"
      "copy; the other ranks read /dev/null (default: none)"},
     [](LogOptions& part, const GivenOption& given) { part.policy.input = stdin_value(given); }},
    {{"--pty", "",
      "Make standard output of the ranks a terminal, for programs that buffer\n"
      "what they write to a pipe"},
     set_flag<&LogOptions::policy, &LogPolicy::pty>},
    {{"--log-level", "error|warn|info|debug", "Level of dslaunch's own messages (default: info)"},
     set_choice<"error|warn|info|debug", &LogOptions::log_level>},
};

}  // namespace

std::span<const OptionDef<LogOptions>> log_options() { return kLogOptions; }

}  // namespace ds::launcher
