// One row an option.
#include "launcher/doctor/doctor_options.h"

#include <span>

#include "launcher/cli/option_values.h"

namespace ds::launcher::doctor {
namespace {

using Def = OptionDef<DoctorOptions>;
using Defs = std::span<const Def>;

constexpr Def kHostfile[] = {
    {{"--hostfile", "FILE", "hosts and slots, as for a job (\"-\" reads standard input)"},
     [](DoctorOptions& o, const GivenOption& given) { o.hostfile = text_value(given); }},
};

constexpr Def kWhere[] = {
    {{"-w", "HOSTS", "hosts as for dslaunch exec, with one slot each; may be repeated", true},
     [](DoctorOptions& o, const GivenOption& given) { o.lists.push_back(text_value(given)); }},
    {{"-x", "HOSTS", "leave these out; may be repeated", true},
     [](DoctorOptions& o, const GivenOption& given) { o.excluded.push_back(text_value(given)); }},
    {{"-l", "USER", "log in as this user where a host names none"},
     [](DoctorOptions& o, const GivenOption& given) { o.user = text_value(given); }},
};

constexpr Def kChecked[] = {
    {{"--wdir", "DIR", "working directory that must be there (default: the current one)"},
     [](DoctorOptions& o, const GivenOption& given) { o.folder = text_value(given); }},
    {{"--path", "PATH", "a file or folder that must be there; may be repeated", true},
     [](DoctorOptions& o, const GivenOption& given) { o.paths.push_back(text_value(given)); }},
    {{"--timeout", "SECONDS", "for a node to answer, once it is reached (default: 30s)"},
     [](DoctorOptions& o, const GivenOption& given) {
       o.timeout = positive_duration_value(given);
     }},
};

constexpr Def kOutput[] = {
    {{"--json", "", "everything that was found, as JSON"},
     [](DoctorOptions& o, const GivenOption&) { o.json = true; }},
    {{"--skip-bad", "",
      "print a hostfile of the nodes that can be used; the table goes to\n"
      "standard error, and the exit code is 0 if there is such a node"},
     [](DoctorOptions& o, const GivenOption&) { o.skip_bad = true; }},
    {{"--good-hosts", "FILE", "write that hostfile to FILE"},
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
