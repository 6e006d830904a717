// Options of hosts and ranks: table and checks of --hostfile, --host, -n and others.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/base/whole_number.h"
#include "launcher/cli/options.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

constexpr int kMaxNodes = 65536;

template <class T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

/// Reads 1/4 or 1/4:NAME, or 1 for one of the hosts.
PartRequest part_value(const GivenOption& given) {
  const std::string_view text = given.value;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::size_t slash = std::min(text.find('/'), colon);
  const auto number = [](std::string_view digits) -> std::optional<int> {
    const std::optional<int> value = whole_number<int>(digits);
    return value && *value >= 0 && *value <= kMaxNodes ? value : std::nullopt;
  };
  const std::optional<int> node = number(text.substr(0, slash));
  const std::optional<int> nodes =
      slash == text.size() ? 0 : number(text.substr(slash + 1, colon - std::min(slash + 1, colon)));
  const bool fits = node && nodes && (slash == text.size() || *node < *nodes);
  if (!fits)
    usage_error(fmt::format("{} must be NODE or NODE/NODES, not '{}'", given.name, given.value),
                "for example 0/4 to 3/4; with a name of the job: 0/4:NAME");
  return {*node, *nodes, std::string(text.substr(std::min(colon + 1, text.size())))};
}

/// Number of options after --hostfile that select hosts and slots.
constexpr std::size_t kSelectionOptions = 5;
constexpr OptionDef<HostOptions> kHostOptions[] = {
    {{"--hostfile,--machinefile", "FILE",
      "Read hosts and slots from FILE, one host per line (\"-\": standard\n"
      "input); without hosts every rank runs on this machine; with --nodes the\n"
      "running job follows changes of FILE"},
     set_text<&HostOptions::hostfile>},
    {{"--host,-H", "LIST",
      "Hosts and slots as a:4,b,c:* (default: 1 slot; *: its GPUs or cores),\n"
      "or groups as @gpu!d; with --hostfile, keep only these of its hosts;\n"
      "repeatable",
      true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.picks, parse_host_picks("--host", given.value));
     }},
    {{"--include,-i", "LIST",
      "Keep only these hosts and slots, in DeepSpeed's syntax: w0@w1:0,2\n"
      "keeps all of w0 and slots 0 and 2 of w1; repeatable",
      true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.include, parse_slot_picks("--include", given.value));
     }},
    {{"--exclude,-e", "LIST", "Leave out these hosts and slots; repeatable", true},
     [](HostOptions& part, const GivenOption& given) {
       append(part.selection.exclude, parse_slot_picks("--exclude", given.value));
     }},
    {{"--num-nodes", "N", "Use only the first N hosts"},
     set_number<1, kMaxNodes, &HostOptions::selection, &HostSelection::num_nodes>},
    {{"--num-gpus", "N", "Use only the first N slots of every host"},
     set_number<1, kMaxSlots, &HostOptions::selection, &HostSelection::num_gpus>},
    {{"-n,--np", "N",
      "Number of ranks; with hosts, use only the first N slots (default: every\n"
      "slot; without hosts: 1); all: every slot, or on this machine every GPU,\n"
      "else every core"},
     [](HostOptions& part, const GivenOption& given) {
       part.all_slots = given.value == "all";
       if (!part.all_slots) part.ranks = number_value(given, 1, kMaxRanks);
     }},
    {{"--ppn,--npernode", "N", "Ranks on each host (default: its slots)"},
     set_number<1, kMaxSlots, &HostOptions::ranks_per_host>},
    {{"--map-by", "WHAT",
      "Places of the ranks: slot: they fill one host after the other; node:\n"
      "they go round the hosts; seq: one for each line of the hostfile or\n"
      "entry of --host; numa, socket, l3cache, core, hwthread: as\n"
      "slot, and they go round these parts of a host; ppr:N:PART: N ranks on\n"
      "each part. Add :pe=N for N cores a rank, :span for evenly filled hosts\n"
      "(default: slot)"},
     [](HostOptions& part, const GivenOption& given) {
       set_map_by(part.map, given);
       if (part.map.oversubscribe && part.oversubscribe == Oversubscribe::off)
         part.oversubscribe = Oversubscribe::spread;
       if (part.map.per_host) part.ranks_per_host = part.map.per_host;
     }},
    {{"--rank-by", "WHAT",
      "Numbers of the ranks: slot: host after host; node: round the hosts;\n"
      "fill: part after part of --map-by (default: as --map-by deals them)"},
     set_choice<"auto|slot|node|fill", &HostOptions::map, &RankMap::rank_by>},
    {{"--no-local", "", "Run no rank on this machine"}, set_flag<&HostOptions::no_local>},
    {{"--oversubscribe", "HOW",
      "Allow more ranks than slots: spread over the hosts (default of the bare\n"
      "option), or rounds: fill the slots of all hosts again",
      false, "spread"},
     set_choice<"off|spread|rounds", &HostOptions::oversubscribe>},
    {{"--devices", "WHOSE",
      "CUDA_VISIBLE_DEVICES of a rank: node: the chosen devices of its node;\n"
      "own: only the device of its slot (default: node)"},
     set_choice<"node|own", &HostOptions::devices>},
    {{"--bind", "WHAT",
      "Processors and memory of a rank: none: all of its node; numa: one NUMA\n"
      "node, its GPU's; cores: a share of that NUMA node; hwthread, core,\n"
      "l3cache, socket: the next of these; openmpi: core for up to 2 ranks,\n"
      "else numa, if there are cores for all (default: the part of --map-by,\n"
      "else none)"},
     [](HostOptions& part, const GivenOption& given) {
       part.map.bind = static_cast<BindTo>(
           choice_value(given, "none|numa|cores|hwthread|core|l3cache|socket|openmpi"));
     }},
    {{"--report-bindings", "", "Print the processors that each rank runs on"},
     set_flag<&HostOptions::report_bindings>},
    {{"--display-map", "", "Print which rank runs where, then start the job"},
     set_flag<&HostOptions::display_map>},
    {{"--role", "NAME", "Set ROLE_NAME of the program's ranks (default: default)"},
     [](HostOptions& part, const GivenOption& given) { part.role = role_value(given); }},
    {{"--part", "NODE[/NODES[:ID]]",
      "Start only node NODE of a job of NODES equal nodes, or of the hosts;\n"
      "every launcher gets the same --master-addr and --master-port; ID is\n"
      "the common name of the job (TORCHELASTIC_RUN_ID)"},
     [](HostOptions& part, const GivenOption& given) { part.part = part_value(given); }},
    {{"--one-program", "", "Treat ':' before an option as an argument, not as another program"},
     set_flag<&HostOptions::one_program>},
    {{"--separate", "",
      "Apply -x, --wdir and, with a hostfile, --host before the first program\n"
      "to this program alone, not also to those after ':'"},
     set_flag<&HostOptions::separate>},
    {{"--dry-run", "FORM",
      "Print which rank would run where, and start nothing: table (default of\n"
      "the bare option), json, or env (with the variables of the ranks)",
      false, "table"},
     set_choice<"off|table|json|env", &HostOptions::dry_run>},
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
    usage_error("--include and --exclude cannot be combined", "give only one of them");
  if (filtered && (selection.num_nodes || selection.num_gpus))
    usage_error(fmt::format("{} cannot be combined with --include or --exclude",
                            selection.num_nodes ? "--num-nodes" : "--num-gpus"),
                "give only one of them");
}

std::string role_value(const GivenOption& given) {
  constexpr const char* kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  if (given.value.empty() || given.value.find_first_not_of(kAllowed) != std::string::npos)
    usage_error(fmt::format("{} must be a name of letters, digits, '.', '-' and '_', not '{}'",
                            given.name, given.value));
  return given.value;
}

}  // namespace ds::launcher
