// Where the ranks run.
#include "launcher/cli/options_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "launcher/cli/option_values.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

constexpr int kMaxNodes = 65536;

template <class T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

/// 1/4, 1/4:NAME, or 1: of the hosts.
PartWish part_value(const GivenOption& given) {
  const std::string_view text = given.value;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::size_t slash = std::min(text.find('/'), colon);
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [stop, error] = std::from_chars(digits.begin(), digits.end(), value);
    const bool whole = !digits.empty() && stop == digits.end() && error == std::errc();
    return whole && value >= 0 && value <= kMaxNodes ? std::optional(value) : std::nullopt;
  };
  const std::optional<int> node = number(text.substr(0, slash));
  const std::optional<int> nodes =
      slash == text.size() ? 0 : number(text.substr(slash + 1, colon - std::min(slash + 1, colon)));
  const bool fits = node && nodes && (slash == text.size() || *node < *nodes);
  if (!fits)
    usage_error(fmt::format("{} needs NODE or NODE/NODES, not '{}'", given.name, given.value),
                "as in 0/4 to 3/4; with a name of the job: 0/4:NAME");
  return {*node, *nodes, std::string(text.substr(std::min(colon + 1, text.size())))};
}

/// The first is --hostfile; so many behind it choose.
constexpr std::size_t kSelectionOptions = 5;
constexpr OptionDef<HostOptions> kHostOptions[] = {
    {{"--hostfile,--machinefile", "FILE",
      "hosts and slots, one a line (\"-\" reads standard input);\n"
      "without any host every rank runs on this machine"},
     [](HostOptions& part, const GivenOption& given) { part.hostfile = text_value(given); }},
    {{"--host,-H", "LIST",
      "hosts and slots as a:4,b,c:* (default 1 slot; *: its GPUs, or cores);\n"
      "with --hostfile: only these of its hosts; may be repeated",
      true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.picks, parse_host_picks("--host", given.value));
     }},
    {{"--include,-i", "LIST",
      "only these hosts and slots, as DeepSpeed has it: w0@w1:0,2 is all of\n"
      "w0 and slots 0 and 2 of w1; may be repeated",
      true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.include, parse_slot_picks("--include", given.value));
     }},
    {{"--exclude,-e", "LIST", "all but these hosts and slots; may be repeated", true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.exclude, parse_slot_picks("--exclude", given.value));
     }},
    {{"--num-nodes", "N", "only the first N hosts"},
     [](HostOptions& part, const GivenOption& given) {
       part.selection.num_nodes = number_value(given, 1, kMaxNodes);
     }},
    {{"--num-gpus", "N", "only the first N slots of every host"},
     [](HostOptions& part, const GivenOption& given) {
       part.selection.num_gpus = number_value(given, 1, kMaxSlots);
     }},
    {{"-n,--np", "N",
      "ranks; with hosts: only the first N slots\n"
      "(default: every slot; without hosts: 1); all: every slot, of this\n"
      "machine its GPUs, or else its cores"},
     [](HostOptions& part, const GivenOption& given) {
       part.all_slots = given.value == "all";
       if (!part.all_slots) part.ranks = number_value(given, 1, kMaxRanks);
     }},
    {{"--ppn,--npernode", "N", "ranks on each host (default: its slots)"},
     [](HostOptions& part, const GivenOption& given) {
       part.ranks_per_host = number_value(given, 1, kMaxSlots);
     }},
    {{"--map-by", "WHAT",
      "slot (default): ranks fill one host after the other; node: they go\n"
      "round the hosts"},
     [](HostOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 2> kNames = {"slot", "node"};
       part.map_by = choice_value<MapBy>(given, kNames);
     }},
    {{"--oversubscribe", "", "more ranks than slots are fine"},
     [](HostOptions& part, const GivenOption&) { part.oversubscribe = true; }},
    {{"--devices", "WHOSE",
      "CUDA_VISIBLE_DEVICES of a rank: node (default): what is chosen of its\n"
      "node; own: the device of its slot alone"},
     [](HostOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 2> kNames = {"node", "own"};
       part.devices = choice_value<DeviceView>(given, kNames);
     }},
    {{"--bind", "WHAT",
      "processors and memory of a rank: none (default): all of its node;\n"
      "numa: of one NUMA node, its GPU's; cores: a share of that alone"},
     [](HostOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 3> kNames = {"none", "numa", "cores"};
       part.bind = choice_value<Bind>(given, kNames);
     }},
    {{"--report-bindings", "", "say of each rank which processors it runs on"},
     [](HostOptions& part, const GivenOption&) { part.report_bindings = true; }},
    {{"--role", "NAME", "name of the program's ranks (ROLE_NAME; default: default)"},
     [](HostOptions& part, const GivenOption& given) { part.role = role_value(given); }},
    {{"--part", "NODE[/NODES[:ID]]",
      "only node NODE of a job of NODES equal ones, or of the hosts, each\n"
      "started by a launcher of its own, with the same --master-addr and\n"
      "--master-port; ID is what all call the job (TORCHELASTIC_RUN_ID)"},
     [](HostOptions& part, const GivenOption& given) { part.part = part_value(given); }},
    {{"--one-program", "", "an argument ':' before an option starts no other program"},
     [](HostOptions& part, const GivenOption&) { part.one_program = true; }},
    {{"--dry-run", "FORM",
      "print which rank would run where, and start nothing: table (of the\n"
      "bare option), json, or env: with the variables they would get",
      false, "table"},
     [](HostOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 4> kNames = {"off", "table", "json", "env"};
       part.dry_run = choice_value<DryRun>(given, kNames);
     }},
};

}  // namespace

std::span<const OptionDef<HostOptions>> host_options() { return kHostOptions; }

std::span<const OptionDef<HostOptions>> selection_options() {
  return std::span<const OptionDef<HostOptions>>(kHostOptions).subspan(1, kSelectionOptions);
}

void check_host_options(const HostOptions& options) {
  const HostSelection& selection = options.selection;
  const bool filtered = !selection.include.empty() || !selection.exclude.empty();
  if (!selection.include.empty() && !selection.exclude.empty())
    usage_error("--include and --exclude exclude each other", "give one of them");
  if (filtered && (selection.num_nodes || selection.num_gpus))
    usage_error(fmt::format("{} cannot be given with --include or --exclude",
                            selection.num_nodes ? "--num-nodes" : "--num-gpus"),
                "give one of them");
}

std::string role_value(const GivenOption& given) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  if (given.value.empty() || !std::all_of(given.value.begin(), given.value.end(), allowed))
    usage_error(fmt::format("{} needs a name of letters, digits, '.', '-' and '_', not '{}'",
                            given.name, given.value));
  return given.value;
}

}  // namespace ds::launcher
