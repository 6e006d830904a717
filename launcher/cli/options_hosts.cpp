// Where the ranks run.
#include "launcher/cli/options_hosts.h"

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr int kMaxRanks = 1 << 20;

constexpr OptionDef<HostOptions> kOptions[] = {
    {{"--hostfile", "FILE",
      "hosts and slots, one a line (\"-\" reads standard input);\n"
      "without it every rank runs on this machine"},
     [](HostOptions& part, const GivenOption& given) { part.hostfile = text_value(given); }},
    {{"-n", "N",
      "ranks; with a hostfile: only the first N slots\n"
      "(default: every slot; without a hostfile: 1)"},
     [](HostOptions& part, const GivenOption& given) {
       part.ranks = number_value(given, 1, kMaxRanks);
     }},
    {{"--dry-run", "json", "print which rank would run where, and start nothing", false, "table"},
     [](HostOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 3> kNames = {"off", "table", "json"};
       part.dry_run = choice_value<DryRun>(given, kNames);
     }},
};

}  // namespace

std::span<const OptionDef<HostOptions>> host_options() { return kOptions; }

}  // namespace ds::launcher
