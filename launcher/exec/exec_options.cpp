// One row an option.
#include "launcher/exec/exec_options.h"

#include <span>

#include "launcher/cli/option_values.h"

namespace ds::launcher::exec {
namespace {

using Def = OptionDef<ExecOptions>;
using Defs = std::span<const Def>;
constexpr int kMostNodes = 65536;

constexpr Def kWhere[] = {
    {{"-w", "HOSTS",
      "as in node[01-16,20],ann@login1: ranges; ^FILE: a list in a file;\n"
      "-: a list on standard input; @GROUP: as -g; -HOSTS: not these;\n"
      "may be repeated. Without any hosts given: the list in the file that\n"
      "the variable WCOLL names",
      true},
     [](ExecOptions& o, const GivenOption& given) { o.lists.push_back(text_value(given)); }},
    {{"-x", "HOSTS", "leave these out; a list as for -w; may be repeated", true},
     [](ExecOptions& o, const GivenOption& given) { o.excluded.push_back(text_value(given)); }},
    {{"-g", "GROUP",
      "the hosts of ~/.dsh/group/GROUP or /etc/dsh/group/GROUP, those with\n"
      "the attribute GROUP in /etc/genders, or the group of clustershell's\n"
      "groups.d/local.cfg; may be repeated",
      true},
     [](ExecOptions& o, const GivenOption& given) { o.groups.push_back(text_value(given)); }},
    {{"--hostfile", "FILE", "the hosts of a hostfile, whatever their slots"},
     [](ExecOptions& o, const GivenOption& given) { o.hostfile = text_value(given); }},
    {{"-l", "USER", "log in as this user where a host names none"},
     [](ExecOptions& o, const GivenOption& given) { o.user = text_value(given); }},
};

constexpr Def kWhat[] = {
    {{"--no-shell", "", "run the words as they are, not as text for the login shell"},
     [](ExecOptions& o, const GivenOption&) { o.shell = false; }},
    {{"--literal", "", "leave %h, %n, %u and %% as they are"},
     [](ExecOptions& o, const GivenOption&) { o.fill_percents = false; }},
    {{"--wdir", "DIR", "working directory on every node (default: the home directory)"},
     [](ExecOptions& o, const GivenOption& given) { o.folder = text_value(given); }},
    {{"--nostdin,-n", "",
      "do not read standard input (default: unless it is a terminal, every\n"
      "command gets a copy of it)"},
     [](ExecOptions& o, const GivenOption&) { o.no_input = true; }},
};

constexpr Def kOutput[] = {
    {{"-b", "",
      "hold standard output until the end, then print equal ones once,\n"
      "below the names of their nodes"},
     [](ExecOptions& o, const GivenOption&) {
       if (o.fold == Fold::nothing) o.fold = Fold::standard_output;
     }},
    {{"-B", "", "the same with standard error among it"},
     [](ExecOptions& o, const GivenOption&) { o.fold = Fold::both; }},
    {{"--diff", "",
      "as -b, but print only the output that most nodes have, and what\n"
      "differs from it on the others"},
     [](ExecOptions& o, const GivenOption&) {
       o.diff = true;
       if (o.fold == Fold::nothing) o.fold = Fold::standard_output;
     }},
    {{"-N", "", "no host name before each line"},
     [](ExecOptions& o, const GivenOption&) { o.prefixed = false; }},
};

constexpr Def kRunning[] = {
    {{"-f", "N", "at most N nodes at the same time (default: all)"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.fanout = number_value(given, 1, kMostNodes);
     }},
    {{"-u", "SECONDS", "stop the command on a node after this time: 30, 30s, 500ms, 2m"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.command_timeout = positive_duration_value(given);
     }},
    {{"-k", "", "when one node fails, stop all others; its code is the exit code"},
     [](ExecOptions& o, const GivenOption&) { o.policy.stop_at_failure = true; }},
    {{"-S", "", "exit with the largest code of the nodes (default: 0)"},
     [](ExecOptions& o, const GivenOption&) { o.policy.largest_code = true; }},
    {{"--grace", "SECONDS", "between TERM and KILL of a command that is stopped (default: 5s)"},
     [](ExecOptions& o, const GivenOption& given) { o.policy.grace = duration_value(given); }},
    {{"--node-timeout", "SECONDS", "a node silent for longer is lost (default: 8s)"},
     [](ExecOptions& o, const GivenOption& given) {
       o.policy.node_timeout = positive_duration_value(given);
     }},
};

constexpr Def kShortReach[] = {
    {{"-t", "SECONDS", "the same as --connect-timeout"},
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
