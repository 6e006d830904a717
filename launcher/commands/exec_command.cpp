// `dslaunch exec`: options (named as in pdsh and clush), hosts, and one command on every host.
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cstdlib>
#include <utility>

#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_values.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/host_sources.h"
#include "launcher/commands/start/routes.h"
#include "launcher/control/socket_folder.h"
#include "launcher/exec/exec_input.h"
#include "launcher/exec/exec_output.h"
#include "launcher/exec/exec_run.h"
#include "launcher/hosts/load_hostfile.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {
namespace {

using namespace exec;

struct ExecOptions {
  std::vector<std::string> lists;     // -w
  std::vector<std::string> excluded;  // -x
  std::vector<std::string> groups;    // -g
  std::optional<std::string> hostfile;
  std::string user;  // -l
  Fold fold = Fold::nothing;
  bool diff = false;
  bool prefixed = true;
  bool shell = true;
  bool fill_percents = true;
  std::string folder;  // --wdir
  bool no_input = false;
  bool leave = false;
  ExecPolicy policy;
  ReachOptions reach;
};

using Def = OptionDef<ExecOptions>;
constexpr int kMostNodes = 65536;

constexpr Def kWhere[] = {
    {{"-w", "HOSTS",
      "Hosts such as node[01-16,20],ann@login1; ^FILE: list in a file; -: list\n"
      "on standard input; @GROUP: as -g; -HOSTS: leave these out; repeatable\n"
      "(default: the list in the file that WCOLL names, else the hostfile that\n"
      "DSLAUNCH_HOSTFILE names)",
      true},
     add_text<&ExecOptions::lists>},
    {{"-x", "HOSTS", "Leave out these hosts; a list as for -w; repeatable", true},
     add_text<&ExecOptions::excluded>},
    {{"-g", "GROUP",
      "Hosts of ~/.dsh/group/GROUP or /etc/dsh/group/GROUP, those with the\n"
      "attribute GROUP in /etc/genders, or the group GROUP in clustershell's\n"
      "groups.d/local.cfg; repeatable",
      true},
     add_text<&ExecOptions::groups>},
    {{"--hostfile", "FILE", "Hosts of a hostfile; their slots do not matter"},
     set_text<&ExecOptions::hostfile>},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     set_text<&ExecOptions::user>},
};

constexpr Def kWhat[] = {
    {{"--no-shell", "", "Run the words as a program with arguments, not by the login shell"},
     [](ExecOptions& o, const GivenOption&) { o.shell = false; }},
    {{"--literal", "", "Do not replace %h, %n, %u and %%"},
     [](ExecOptions& o, const GivenOption&) { o.fill_percents = false; }},
    {{"--wdir", "DIR", "Working directory on every node (default: the home directory)"},
     set_text<&ExecOptions::folder>},
    {{"--nostdin,-n", "",
      "Do not read standard input (default: every command gets a copy of it,\n"
      "unless it is a terminal)"},
     set_flag<&ExecOptions::no_input>},
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
     set_number<1, kMostNodes, &ExecOptions::policy, &ExecPolicy::fanout>},
    {{"-u", "SECONDS", "Stop the command on a node after SECONDS: 30, 30s, 500ms, 2m"},
     set_positive_duration<&ExecOptions::policy, &ExecPolicy::command_timeout>},
    {{"-k", "", "Stop all nodes when one fails, and exit with its code"},
     set_flag<&ExecOptions::policy, &ExecPolicy::stop_at_failure>},
    {{"-S", "", "Exit with the largest code of the nodes (default: 0)"},
     set_flag<&ExecOptions::policy, &ExecPolicy::largest_code>},
    {{"--leave", "", "Let background processes of the command live when it exits"},
     set_flag<&ExecOptions::leave>},
    {{"--grace", "SECONDS", "Time between TERM and KILL when a command is stopped (default: 5s)"},
     set_duration<&ExecOptions::policy, &ExecPolicy::grace>},
    {{"--node-timeout", "SECONDS",
      "Time without a heartbeat after which a node is lost (default: 8s)"},
     set_positive_duration<&ExecOptions::policy, &ExecPolicy::node_timeout>},
};

constexpr Def kShortReach[] = {
    {{"-t", "SECONDS", "Same as --connect-timeout"},
     set_positive_duration<&ExecOptions::reach, &ReachOptions::connect_timeout>},
};

OptionTable exec_table(ExecOptions& options) {
  OptionTable table;
  table.add("Where", kWhere, options);
  table.add("What", kWhat, options);
  table.add("Output", kOutput, options);
  table.add("Running", kRunning, options);
  table.add("Reaching the nodes", reach_options(), options.reach);
  table.add("Reaching the nodes", kShortReach, options);
  return table;
}

constexpr std::string_view kDetails =
    R"(The words of COMMAND are joined by blanks and run by the user's login shell on each node, in the
home directory, as ssh does. Quote what the shells on the nodes must interpret: 'echo $HOSTNAME;
uptime'. In COMMAND %h is replaced by the host, %n by its number from 0, %u by the user, %% by a
percent sign. Every command gets a copy of standard input unless that is a terminal; -n leaves
standard input unread, for example in a loop that reads a file.

Nodes run independently: a failed or unreachable node does not stop the others. Failed nodes are
listed at the end. Ctrl-C on a terminal lists the nodes that still run; a second Ctrl-C within one
second stops them: TERM, and KILL after the grace, to all processes that the command made.
Background processes are killed 1 s after the command exits, even with nohup or setsid, and a line
says how many; with --leave they stay. From another terminal `dslaunch ps` lists the command and
`dslaunch kill` stops it.

Exit code: 0; with -S the largest code of the nodes, with -k that of the first failure: the
command's code, 128 + signal, 69 a node was not reached or was lost, 124 a timeout; 64 usage
error, 65 a list or file that cannot be read, 129, 130 and 143 after a signal.)";

/// Hosts of the command line; `took_input` tells that standard input gave some of them.
struct FoundHosts {
  std::vector<Host> hosts;
  bool took_input = false;
};

FoundHosts hosts_of(const ExecOptions& options) {
  FoundHosts found;
  if (!options.user.empty()) check_user(options.user, "-l");
  found.took_input = options.hostfile == "-";
  ListReader reader = system_list_reader();
  reader.file = [&found, read = reader.file](const std::string& path) {
    found.took_input = found.took_input || path == "-";
    return read(path);
  };
  HostListParser parser(reader);
  for (const std::string& list : options.lists) parser.add(list, "-w");
  for (const std::string& group : options.groups) parser.add_group(group, "-g");
  if (options.hostfile) parser.add_hosts(load_hostfile(*options.hostfile));
  const bool none_given = options.lists.empty() && options.groups.empty() && !options.hostfile;
  if (none_given) {
    if (!add_default_hosts(parser))
      usage_error("no hosts are given", "for example: dslaunch exec -w node[01-16] -- uname -r");
  }
  for (const std::string& list : options.excluded) parser.exclude(list, "-x");
  found.hosts = parser.hosts();
  if (found.hosts.empty())
    usage_error("no hosts are left", "check -w, -g, --hostfile, WCOLL and -x");
  for (Host& host : found.hosts)
    if (host.user.empty()) host.user = options.user;
  return found;
}

int run(int argc, char** argv) {
  ExecOptions options;
  const auto words = read_command(kExecCommand, exec_table(options), argc, argv, Words::command);
  if (!words) return 0;
  if (words->empty() || words->front().empty())
    usage_error("no command is given", "for example: dslaunch exec -w node[01-16] -- uname -r");
  ExecRequest request;
  FoundHosts found = hosts_of(options);
  request.hosts = std::move(found.hosts);
  const bool reads = !options.no_input && !found.took_input && has_input(STDIN_FILENO);
  request.in_fd = reads ? STDIN_FILENO : -1;
  request.argv = *words;
  request.shell = options.shell;
  request.fill_percents = options.fill_percents;
  request.user = local_user().name;
  request.folder = options.folder;
  request.leave = options.leave;
  request.policy = options.policy;
  request.policy.interrupt_asks = ::isatty(STDERR_FILENO) == 1;
  request.policy.start_timeout = start_timeout(options.reach);
  request.control_folders = socket_folders(own_variable, ::geteuid());
  request.output = {.fold = options.fold, .diff = options.diff, .prefixed = options.prefixed};
  asio::io_context io(1);
  const Routes routes = make_routes(io, request.hosts, options.reach, request.policy.node_timeout);
  request.routes = routes.by_host;
  return run_exec(io, std::move(request)).code;
}

}  // namespace

const Command kExecCommand{
    .name = "exec",
    .summary = "run a command once on each of many machines (as pdsh, clush)",
    .run = run,
    .synopsis = "[options] [--] COMMAND ARGS...",
    .details = kDetails,
    .options = shown_table<ExecOptions, exec_table>};

}  // namespace ds::launcher
