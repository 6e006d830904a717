// `dslaunch exec`: options (named as in pdsh and clush), hosts, and one command on every host.
#include <fmt/format.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <climits>
#include <cstdlib>
#include <utility>

#include "engine/base/split.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/host_sources.h"
#include "launcher/commands/start/routes.h"
#include "launcher/control/job_socket.h"
#include "launcher/exec/exec_input.h"
#include "launcher/exec/exec_output.h"
#include "launcher/exec/exec_run.h"
#include "launcher/hosts/hostfile.h"
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
  ExecRequest request;
  ReachOptions reach;
};

using Def = OptionDef<ExecOptions>;
using RequestDef = OptionDef<ExecRequest>;
constexpr int kMostNodes = 65536;

constexpr Def kWhere[] = {
    {{"-w", "HOSTS",
      "Hosts such as node[01-16,20],ann@login1; ^FILE: list in a file; -: list\n"
      "on standard input; @GROUP: as -g; -HOSTS: leave these out; a!b, a&b,\n"
      "a^b: differences, common hosts, hosts of only one; repeatable\n"
      "(default: the list in the file that WCOLL names, else the hostfile that\n"
      "DSLAUNCH_HOSTFILE names)",
      true},
     add_text<&ExecOptions::lists>},
    {{"-x", "HOSTS", "Leave out these hosts; a list as for -w; repeatable", true},
     add_text<&ExecOptions::excluded>},
    {{"-g", "GROUP",
      "Hosts of ~/.dsh/group/GROUP or /etc/dsh/group/GROUP, those that match\n"
      "the query GROUP in /etc/genders, or the group GROUP of ClusterShell's\n"
      "groups.conf; SOURCE:GROUP: of this source; *: all hosts; repeatable",
      true},
     add_text<&ExecOptions::groups>},
    {{"--hostfile", "FILE", "Hosts of a hostfile; their slots do not matter"},
     set_text<&ExecOptions::hostfile>},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     set_text<&ExecOptions::user>},
};

constexpr RequestDef kWhat[] = {
    {{"--here", "",
      "Run the words as a program on this machine, once for each host:\n"
      "dslaunch exec --here -w n[1-3] -- grep BUG console.%h"},
     set_flag<&ExecRequest::here>},
    {{"--no-shell", "", "Run the words as a program with arguments, not by the login shell"},
     [](ExecRequest& o, const GivenOption&) { o.shell = false; }},
    {{"--literal", "", "Do not replace %h, %n, %u and %%"},
     [](ExecRequest& o, const GivenOption&) { o.fill_percents = false; }},
    {{"--wdir", "DIR", "Working directory on every node (default: the home directory)"},
     set_text<&ExecRequest::folder>},
    {{"--nostdin,-n", "",
      "Do not read standard input (default: every command gets a copy of it,\n"
      "unless it is a terminal)"},
     [](ExecRequest& o, const GivenOption&) { o.in_fd = -1; }},
};

void fold_output(ExecRequest& o, const GivenOption& /*given*/) {
  if (o.output.fold == Fold::nothing) o.output.fold = Fold::standard_output;
}

void set_style(ExecRequest& o, const GivenOption& given) {
  constexpr std::string_view kWords[] = {"pdsh", "batch", "full", "times"};
  PdshStyle& style = o.pdsh.emplace();
  bool is_pdsh = false;
  for (const std::string_view word : split(given.value, ',')) {
    const std::size_t which = choice_value({given.name, std::string(word)}, kWords);
    is_pdsh |= which == 0;
    style.batch |= which == 1;
    style.full_names |= which == 2;
    style.times |= which == 3;
  }
  if (!is_pdsh)
    usage_error(fmt::format("--style '{}': the style is missing", given.value),
                "for example: --style pdsh,batch");
}

constexpr RequestDef kOutput[] = {
    {{"-b", "",
      "Hold standard output until the end, then print equal outputs once,\n"
      "below the names of their nodes"},
     fold_output},
    {{"-B", "", "Do as -b, with standard error merged in"},
     [](ExecRequest& o, const GivenOption&) { o.output.fold = Fold::both; }},
    {{"--diff", "",
      "Do as -b, but print only the output of most nodes and how the others\n"
      "differ from it"},
     [](ExecRequest& o, const GivenOption& given) {
       o.output.diff = true;
       fold_output(o, given);
     }},
    {{"-N", "", "Print lines without the host name"},
     [](ExecRequest& o, const GivenOption&) { o.output.prefixed = false; }},
    {{"--style", "STYLE",
      "Print and exit as pdsh does: pdsh, also with batch (one Ctrl-C stops\n"
      "all), full (names keep their domain), times (how long nodes took):\n"
      "pdsh,batch,times"},
     set_style},
};

constexpr RequestDef kRunning[] = {
    {{"-f", "N", "Run on at most N nodes at the same time (default: all)"},
     set_number<1, kMostNodes, &ExecRequest::policy, &ExecPolicy::fanout>},
    {{"-u", "SECONDS", "Stop the command on a node after SECONDS: 30, 2.5s, 500ms, 2m"},
     set_positive_duration<&ExecRequest::policy, &ExecPolicy::command_timeout>},
    {{"--fanout", "N", "Same as -f"},
     set_number<1, kMostNodes, &ExecRequest::policy, &ExecPolicy::fanout>},
    {{"--timeout", "SECONDS", "Same as -u"},
     set_positive_duration<&ExecRequest::policy, &ExecPolicy::command_timeout>},
    {{"-k", "", "Stop all nodes when one fails, and exit with its code"},
     set_flag<&ExecRequest::policy, &ExecPolicy::stop_at_failure>},
    {{"-S", "", "Exit with the largest code of the nodes (default: 0)"},
     set_flag<&ExecRequest::policy, &ExecPolicy::largest_code>},
    {{"--leave", "", "Let background processes of the command live when it exits"},
     set_flag<&ExecRequest::leave>},
    {{"--grace", "SECONDS", "Time between TERM and KILL when a command is stopped (default: 5s)"},
     set_grace<&ExecRequest::policy, &ExecPolicy::grace>},
    {{"--node-timeout", "SECONDS",
      "Time without a heartbeat after which a node is lost, at least 100ms\n(default: 8s)"},
     set_node_timeout<&ExecRequest::policy, &ExecPolicy::node_timeout>},
};

constexpr Def kShortReach[] = {
    {{"-t", "SECONDS", "Same as --connect-timeout"},
     set_positive_duration<&ExecOptions::reach, &ReachOptions::connect_timeout>},
};

OptionTable exec_table(ExecOptions& options) {
  OptionTable table;
  table.add("Where", kWhere, options);
  table.add("What", kWhat, options.request);
  table.add("Output", kOutput, options.request);
  table.add("Running", kRunning, options.request);
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

/// Returns the hosts of the command line. If standard input gives some of them, the command does
/// not get it.
std::vector<Host> hosts_of(ExecOptions& options) {
  if (!options.user.empty()) check_user(options.user, "-l");
  int& in_fd = options.request.in_fd;
  if (options.hostfile == "-") in_fd = -1;
  ListReader reader = system_list_reader();
  reader.file = [&in_fd, read = reader.file](const std::string& path) {
    if (path == "-") in_fd = -1;
    return read(path);
  };
  HostListParser parser(reader);
  for (const std::string& list : options.lists) parser.add(list, "-w");
  for (const std::string& group : options.groups) parser.add_group(group, "-g");
  if (options.hostfile) parser.add_hosts(load_hostfile(*options.hostfile));
  const bool none_given = options.lists.empty() && options.groups.empty() && !options.hostfile;
  if (none_given && !add_default_hosts(parser))
    usage_error("no hosts are given", "for example: dslaunch exec -w node[01-16] -- uname -r");
  for (const std::string& list : options.excluded) parser.exclude(list, "-x");
  std::vector<Host> hosts = parser.hosts();
  if (hosts.empty()) usage_error("no hosts are left", "check -w, -g, --hostfile, WCOLL and -x");
  for (Host& host : hosts)
    if (host.user.empty()) host.user = options.user;
  return hosts;
}

/// Completes the settings of --style pdsh.
void prepare_style(ExecRequest& request) {
  PdshStyle& style = *request.pdsh;
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  const std::string_view host = name;
  style.self = fmt::format("pdsh@{}", host.substr(0, host.find('.')));
  style.here = request.here;
  style.prefixed = request.output.prefixed;
  const std::string& program = request.argv.front();
  if (request.here) style.program = program.substr(program.rfind('/') + 1);  // npos + 1 is 0.
  request.output.whole_lines = true;
  request.policy.interrupt_asks = !style.batch;
  request.policy.cancels = true;
  request.policy.stopped_code = 1;
  request.policy.code_of = [style](const NodeResult& result) {
    return pdsh_code_of(style, result);
  };
}

int run(int argc, char** argv) {
  ExecOptions options;
  options.request.in_fd = STDIN_FILENO;
  const auto words = read_command(kExecCommand, exec_table(options), argc, argv, Words::command);
  if (!words) return 0;
  if (words->empty() || words->front().empty())
    usage_error("no command is given", "for example: dslaunch exec -w node[01-16] -- uname -r");
  ExecRequest& request = options.request;
  request.hosts = hosts_of(options);
  if (request.in_fd >= 0 && !has_input(request.in_fd)) request.in_fd = -1;
  request.argv = *words;
  request.user = local_user().name;
  request.policy.interrupt_asks = ::isatty(STDERR_FILENO) == 1;
  if (request.here) options.reach.transport = TransportChoice::local;
  if (request.pdsh) prepare_style(request);
  request.policy.start_timeout = start_timeout(options.reach);
  request.control_folders = socket_folders(own_variable, ::geteuid());
  asio::io_context io(1);
  const Routes routes = make_routes(io, request.hosts, options.reach, request.policy.node_timeout);
  request.routes = routes.by_host;
  return run_exec(io, std::move(request)).code;
}

}  // namespace

const Command kExecCommand{
    .name = "exec",
    .summary = "Run a command once on each of many machines (as pdsh, clush)",
    .run = run,
    .synopsis = "[options] [--] COMMAND ARGS...",
    .details = kDetails,
    .options = shown_table<ExecOptions, exec_table>};

}  // namespace ds::launcher
