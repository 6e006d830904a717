// Options of `dslaunch doctor`, and the hosts from the hostfile, lists and filters.
#include "launcher/commands/doctor_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/host_sources.h"
#include "launcher/groups/host_list.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {
namespace {

using Def = OptionDef<DoctorOptions>;

constexpr Def kHostfile[] = {
    {{"--hostfile", "FILE", "Read hosts and slots from FILE, as for a job (\"-\": standard input)"},
     set_text<&DoctorOptions::hostfile>},
};

constexpr Def kWhere[] = {
    {{"-w", "HOSTS", "Hosts as for dslaunch exec, with one slot each; repeatable", true},
     add_text<&DoctorOptions::lists>},
    {{"-x", "HOSTS", "Leave out these hosts; repeatable", true},
     add_text<&DoctorOptions::excluded>},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     set_text<&DoctorOptions::user>},
};

constexpr Def kChecked[] = {
    {{"--wdir", "DIR", "Working directory that must exist (default: the current one)"},
     set_text<&DoctorOptions::folder>},
    {{"--path", "PATH", "File or folder that must exist; repeatable", true},
     add_text<&DoctorOptions::paths>},
    {{"--timeout", "SECONDS", "Maximum time for the answer of a connected node (default: 30s)"},
     set_positive_duration<&DoctorOptions::timeout>},
};

constexpr Def kOutput[] = {
    {{"--json", "", "Print all facts and findings as JSON"}, set_flag<&DoctorOptions::json>},
    {{"--skip-bad", "",
      "Print a hostfile of the usable nodes; the table goes to standard\n"
      "error, and the exit code is 0 if at least one node is usable"},
     set_flag<&DoctorOptions::skip_bad>},
    {{"--good-hosts", "FILE", "Write the hostfile of the usable nodes to FILE"},
     set_text<&DoctorOptions::good_hosts>},
};

/// Refuses picks of slots on hosts with slots=auto: their number is not known here.
void check_auto_slots(const std::vector<Host>& hosts, const HostSelection& selection) {
  for (const auto* picks : {&selection.include, &selection.exclude})
    for (const SlotPick& pick : *picks)
      for (const Host& host : hosts)
        if (host.slots == kAutoSlots && !pick.slots.empty() &&
            std::ranges::count(pick.names, host.name) > 0)
          throw Error(
              ErrorKind::config,
              fmt::format("'{}' picks slots of {}, which has slots=auto", pick.text, host.name),
              "pick the whole host");
}

/// Applies the selection as a job does, but leaves slots=auto as it is.
std::vector<Host> chosen(std::vector<Host> hosts, const HostSelection& selection) {
  check_auto_slots(hosts, selection);
  hosts = select_hosts(std::move(hosts), selection);
  std::vector<Host> counted;
  for (Host& host : hosts) {
    if (host.slots == kAutoSlots && selection.num_gpus) host.slots = *selection.num_gpus;
    if (host.slots != kAutoSlots) counted.push_back(host);
  }
  if (!counted.empty()) counted = select_slots(std::move(counted), selection);
  std::vector<Host> all;
  auto next = counted.begin();
  for (Host& host : hosts) {
    if (host.slots == kAutoSlots)
      all.push_back(std::move(host));
    else if (next != counted.end() && next->name == host.name && next->port == host.port)
      all.push_back(std::move(*next++));
  }
  return all;
}

}  // namespace

OptionTable doctor_table(DoctorOptions& options) {
  OptionTable table;
  table.add("Where", kHostfile, options);
  table.add("Where", selection_options(), options.choice);
  table.add("Where", kWhere, options);
  table.add("What is checked", kChecked, options);
  table.add("Output", kOutput, options);
  table.add("Reaching the nodes", reach_options(), options.reach);
  return table;
}

std::vector<Host> hosts_of(const DoctorOptions& options) {
  HostSelection selection = options.choice.selection;
  if (!options.user.empty()) check_user(options.user, "-l");
  HostListParser parser(system_list_reader());
  std::vector<HostPick> picks = std::exchange(selection.picks, {});
  open_groups(picks);
  if (options.hostfile)
    parser.add_hosts(select_hosts(load_hostfile(*options.hostfile), {.picks = picks}));
  else if (!picks.empty())
    parser.add_hosts(hosts_of_picks(picks));
  else if (options.lists.empty() && !add_default_hosts(parser))
    usage_error("no hosts are given", "for example: " + options.example);
  for (const std::string& list : options.lists) parser.add(list, "-w");
  for (const std::string& list : options.excluded) parser.exclude(list, "-x");
  std::vector<Host> hosts = chosen(parser.hosts(), selection);
  if (hosts.empty()) usage_error("no hosts are left", "check --hostfile, -w and -x");
  for (Host& host : hosts)
    if (host.user.empty()) host.user = options.user;
  return hosts;
}

}  // namespace ds::launcher::doctor
