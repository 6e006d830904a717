// `dslaunch exec`: reads the command line and the hosts, then runs a command on every host.
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cstdlib>
#include <utility>

#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_values.h"
#include "launcher/commands/exec_options.h"
#include "launcher/commands/host_sources.h"
#include "launcher/commands/start/routes.h"
#include "launcher/commands/subcommands.h"
#include "launcher/control/job_socket.h"
#include "launcher/exec/exec_input.h"
#include "launcher/exec/exec_run.h"
#include "launcher/hosts/load_hostfile.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {
namespace {

using namespace exec;

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

OptionTable shown_options() {
  static ExecOptions options;
  return exec_table(options);
}

}  // namespace

const Command kExecCommand{
    .name = "exec",
    .summary = "run a command once on each of many machines (as pdsh, clush)",
    .run = run,
    .synopsis = "[options] [--] COMMAND ARGS...",
    .details = kDetails,
    .options = shown_options};

}  // namespace ds::launcher
