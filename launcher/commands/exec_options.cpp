// Options of `dslaunch exec`, one table row each.
#include "launcher/commands/exec_options.h"

#include <span>

#include "launcher/cli/option_values.h"

namespace ds::launcher::exec {
namespace {

using Def = OptionDef<ExecOptions>;
using Defs = std::span<const Def>;
constexpr int kMostNodes = 65536;

constexpr Def kWhere[] = {
    {{"-w", "HOSTS",
      "Hosts such as node[01-16,20],ann@login1; ^FILE: list in a file; -: list\n"
      "on standard input; @GROUP: as -g; -HOSTS: leave these out; repeatable\n"
      "(default: the list in the file that WCOLL names, else the hostfile that\n"
      "DSLAUNCH_HOSTFILE names)",
      true},
     [](ExecOptions& o, const GivenOption& given) { o.lists.push_back(text_value(given)); }},
    {{"-x", "HOSTS", "Leave out these hosts; a list as for -w; repeatable", true},
     [](ExecOptions& o, const GivenOption& given) { o.excluded.push_back(text_value(given)); }},
    {{"-g", "GROUP",
      "Hosts of ~/.dsh/group/GROUP or /etc/dsh/group/GROUP, those with the\n"
      "attribute GROUP in /etc/genders, or the group GROUP in clustershell's\n"
      "groups.d/local.cfg; repeatable",
      true},
     [](ExecOptions& o, const GivenOption& given) { o.groups.push_back(text_value(given)); }},
    {{"--hostfile", "FILE", "Hosts of a hostfile; their slots do not matter"},
     [](ExecOptions& o, const GivenOption& given) { o.hostfile = text_value(given); }},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     [](ExecOptions& o, const GivenOption& given) { o.user = text_value(given); }},
};

constexpr Def kWhat[] = {
    {{"--no-shell", "", "Run the words as a program with arguments, not by the login shell"},
     [](ExecOptions& o, const GivenOption&) { o.shell = false; }},
    {{"--literal", "", "Do not replace %h, %n, %u and %%"},
     [](ExecOptions& o, const GivenOption&) { o.fill_percents = false; }},
    {{"--wdir", "DIR", "Working directory on every node (default: the home directory)"},
     [](ExecOptions& o, const GivenOption& given) { o.folder = text_value(given); }},
    {{"--nostdin,-n", "",
      "Do not read standard input (default: every command gets a copy of it,\n"
      "unless it is a terminal)"},
     [](ExecOptions& o, const GivenOption&) { o.no_input = true; }},
};

constexpr Def kOutput[] = {
    {{"-b", "",
      "Hold standard output until the end, then print equal outputs once,\n"
      "below the names of their nodes"},
     [](ExecOptions& o, const GivenOption&) {
       if (o.fold == Fold::nothing) o.fold = Fold::standard_output;
     }},
    {{"-B", "", "Do as -b, with standard error merged in"},
     [](ExecOptions& o, const GivenOption&) { o.fold = Fold::both; }},
    {{"--diff", "",
      "Do as -b, but print only the output of most nodes and how the others\n"
      "differ from it"},
     [](ExecOptions& o, const GivenOption&) {
       o.diff = true;
       if (o.fold == Fold::nothing) o.fold = Fold::standard_output;
     }},
    {{"-N", "", "Print lines without the host name"},
     [](ExecOptions& o, const GivenOption&) { o.prefixed = false; }},
};

constexpr Def kRunning[] = {
    {{"-f", "N", "Run on at most N nodes at the same time (default: all)"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.fanout = number_value(given, 1, kMostNodes);
     }},
    {{"-u", "SECONDS", "Stop the command on a node after SECONDS: 30, 30s, 500ms, 2m"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.command_timeout = positive_duration_value(given);
     }},
    {{"-k", "", "Stop all nodes when one fails, and exit with its code"},
     [](ExecOptions& o, const GivenOption&) { o.policy.stop_at_failure = true; }},
    {{"-S", "", "Exit with the largest code of the nodes (default: 0)"},
     [](ExecOptions& o, const GivenOption&) { o.policy.largest_code = true; }},
    {{"--leave", "", "Let background processes of the command live when it exits"},
     [](ExecOptions& o, const GivenOption&) { o.leave = true; }},
    {{"--grace", "SECONDS", "Time between TERM and KILL when a command is stopped (default: 5s)"},
     [](ExecOptions& o, const GivenOption& given) { o.policy.grace = duration_value(given); }},
    {{"--node-timeout", "SECONDS",
      "Time without a heartbeat after which a node is lost (default: 8s)"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.node_timeout = positive_duration_value(given);
     }},
};

constexpr Def kShortReach[] = {
    {{"-t", "SECONDS", "Same as --connect-timeout"},
     [](ExecOptions& o, const GivenOption& given) {
       o.reach.connect_timeout = positive_duration_value(given);
     }},
};

}  // namespace

OptionTable exec_table(ExecOptions& options) {
  OptionTable table;
  table.add("Where", Defs(kWhere), options);
  table.add("What", Defs(kWhat), options);
  table.add("Output", Defs(kOutput), options);
  table.add("Running", Defs(kRunning), options);
  table.add("Reaching the nodes", reach_options(), options.reach);
  table.add("Reaching the nodes", Defs(kShortReach), options);
  return table;
}

}  // namespace ds::launcher::exec
