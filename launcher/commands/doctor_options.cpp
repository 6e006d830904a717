// Options of `dslaunch doctor`, one table row each.
#include "launcher/commands/doctor_options.h"

#include <span>

#include "launcher/cli/option_values.h"

namespace ds::launcher::doctor {
namespace {

using Def = OptionDef<DoctorOptions>;
using Defs = std::span<const Def>;

constexpr Def kHostfile[] = {
    {{"--hostfile", "FILE", "Read hosts and slots from FILE, as for a job (\"-\": standard input)"},
     [](DoctorOptions& o, const GivenOption& given) { o.hostfile = text_value(given); }},
};

constexpr Def kWhere[] = {
    {{"-w", "HOSTS", "Hosts as for dslaunch exec, with one slot each; repeatable", true},
     [](DoctorOptions& o, const GivenOption& given) { o.lists.push_back(text_value(given)); }},
    {{"-x", "HOSTS", "Leave out these hosts; repeatable", true},
     [](DoctorOptions& o, const GivenOption& given) { o.excluded.push_back(text_value(given)); }},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     [](DoctorOptions& o, const GivenOption& given) { o.user = text_value(given); }},
};

constexpr Def kChecked[] = {
    {{"--wdir", "DIR", "Working directory that must exist (default: the current one)"},
     [](DoctorOptions& o, const GivenOption& given) { o.folder = text_value(given); }},
    {{"--path", "PATH", "File or folder that must exist; repeatable", true},
     [](DoctorOptions& o, const GivenOption& given) { o.paths.push_back(text_value(given)); }},
    {{"--timeout", "SECONDS", "Maximum time for the answer of a connected node (default: 30s)"},
     [](DoctorOptions& o, const GivenOption& given) {
       o.timeout = positive_duration_value(given);
     }},
};

constexpr Def kOutput[] = {
    {{"--json", "", "Print all facts and findings as JSON"},
     [](DoctorOptions& o, const GivenOption&) { o.json = true; }},
    {{"--skip-bad", "",
      "Print a hostfile of the usable nodes; the table goes to standard\n"
      "error, and the exit code is 0 if at least one node is usable"},
     [](DoctorOptions& o, const GivenOption&) { o.skip_bad = true; }},
    {{"--good-hosts", "FILE", "Write the hostfile of the usable nodes to FILE"},
     [](DoctorOptions& o, const GivenOption& given) { o.good_hosts = text_value(given); }},
};

}  // namespace

OptionTable doctor_table(DoctorOptions& options) {
  OptionTable table;
  table.add("Where", Defs(kHostfile), options);
  table.add("Where", selection_options(), options.choice);
  table.add("Where", Defs(kWhere), options);
  table.add("What is checked", Defs(kChecked), options);
  table.add("Output", Defs(kOutput), options);
  table.add("Reaching the nodes", reach_options(), options.reach);
  return table;
}

}  // namespace ds::launcher::doctor
