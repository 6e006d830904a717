// `dslaunch copy`, `dslaunch rcopy`, and `copy-node`, which both run on every node.
#include <fmt/format.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/doctor_options.h"
#include "launcher/commands/start/routes.h"
#include "launcher/control/job_socket.h"
#include "launcher/copy/copy_frames.h"
#include "launcher/copy/copy_node.h"
#include "launcher/copy/copy_run.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {
namespace {

using copy::CopyRequest;
using copy::CopyTask;

struct CopyOptions {
  doctor::DoctorOptions where;  // hosts, -l, and the options of reach_options()
  CopyTask task;
  exec::ExecPolicy policy;
  std::optional<int> children;  // --tree
};

using CopyDef = OptionDef<CopyOptions>;
constexpr int kMostCopyNodes = 65536;
constexpr std::size_t kTreeFrom = 64;  // without --tree; fewer nodes: the root sends to all
constexpr int kChildren = 2;

constexpr CopyDef kCopyWhere[] = {
    {{"--hostfile", "FILE", "Read hosts from FILE, as for a job (\"-\": standard input)"},
     [](CopyOptions& o, const GivenOption& given) { o.where.hostfile = text_value(given); }},
    {{"-w", "HOSTS", "Hosts as for dslaunch exec: node[01-16,20]; ^FILE; @GROUP; repeatable", true},
     [](CopyOptions& o, const GivenOption& given) { o.where.lists.push_back(text_value(given)); }},
    {{"-x", "HOSTS", "Leave out these hosts; repeatable", true},
     [](CopyOptions& o, const GivenOption& given) {
       o.where.excluded.push_back(text_value(given));
     }},
    {{"-g", "GROUP", "Hosts of a group, as for dslaunch exec; repeatable", true},
     [](CopyOptions& o, const GivenOption& given) {
       o.where.lists.push_back("@" + text_value(given));
     }},
    {{"-l", "USER", "Log in as USER on hosts without a user of their own"},
     [](CopyOptions& o, const GivenOption& given) { o.where.user = text_value(given); }},
};

constexpr CopyDef kCopyWhat[] = {
    {{"-r", "", "Copy folders with their content, and links as links (default: files only)"},
     set_flag<&CopyOptions::task, &CopyTask::recursive>},
    {{"-p", "", "Keep times, and modes regardless of the umask"},
     set_flag<&CopyOptions::task, &CopyTask::keep>},
    {{"--quick", "", "Take a file of equal size and time for equal, without reading it"},
     set_flag<&CopyOptions::task, &CopyTask::quick>},
};

constexpr CopyDef kCopyRunning[] = {
    {{"--fanout,-f", "N", "Copy to or from at most N nodes at the same time (default: all)"},
     set_number<1, kMostCopyNodes, &CopyOptions::policy, &exec::ExecPolicy::fanout>},
    {{"--timeout,-u", "SECONDS", "Maximum time of the copy on a node: 30, 30s, 2m (default: none)"},
     set_positive_duration<&CopyOptions::policy, &exec::ExecPolicy::command_timeout>},
    {{"--node-timeout", "SECONDS",
      "Time without a heartbeat after which a node is lost, at least 100ms\n(default: 8s)"},
     set_node_timeout<&CopyOptions::policy, &exec::ExecPolicy::node_timeout>},
};

constexpr CopyDef kTreeOption[] = {
    {{"--tree", "N",
      "Let each node pass the files on to N others; 0: the launcher sends to all\n"
      "(default: 2 from 64 nodes on, else 0)"},
     [](CopyOptions& o, const GivenOption& given) {
       o.children = static_cast<int>(number_value(given, 0, 64));
     }},
};

OptionTable copy_options(CopyOptions& options, bool sends) {
  OptionTable table;
  table.add("Where", kCopyWhere, options);
  table.add("Where", selection_options(), options.where.choice);
  table.add("What", kCopyWhat, options);
  table.add("Running", kCopyRunning, options);
  if (sends) table.add("Running", kTreeOption, options);
  table.add("Reaching the nodes", reach_options(), options.where.reach);
  return table;
}
OptionTable copy_table(CopyOptions& options) { return copy_options(options, true); }
OptionTable rcopy_table(CopyOptions& options) { return copy_options(options, false); }

/// All paths of a task travel in one message to each node.
void check_paths(const CopyTask& task) {
  const std::size_t bytes = copy::message_bytes(task);
  if (bytes <= copy::kMaxMessageBytes) return;
  usage_error(fmt::format("the paths on the nodes take {} bytes together; the limit is {} bytes",
                          bytes, copy::kMaxMessageBytes),
              task.gather ? "get the files with several commands, or their folder with -r"
                          : "give a shorter target");
}

int run_with(const Command& command, OptionTable table, CopyOptions& options, int argc,
             char** argv) {
  const bool sends = command.name == kCopyCommand.name;
  const auto given = read_command(command, std::move(table), argc, argv);
  if (!given) return 0;
  std::vector<std::string> words = *given;
  if (words.size() < 2 || words.front().empty() || words.back().empty())
    usage_error(
        "a source or the target is missing",
        fmt::format("for example: dslaunch {}", sends ? "copy -w node[01-16] data.bin /tmp/"
                                                      : "rcopy -w node[01-16] /etc/fstab ."));
  check_host_options(options.where.choice);
  options.where.example = fmt::format("dslaunch {} -w node[01-16] ...", command.name);
  CopyRequest request;
  request.exec.hosts = doctor::hosts_of(options.where);
  request.exec.argv = words;
  request.exec.subcommand = command.name;
  request.target = std::move(words.back());
  words.pop_back();
  request.task = options.task;
  request.task.gather = !sends;
  request.task.into_folder = words.size() > 1 || request.target.ends_with('/');
  request.sources = words;
  request.task.paths = sends ? std::vector{request.target} : words;
  check_paths(request.task);
  // With a fan-out, nodes that pass files on would keep their places to the end.
  const bool all_at_once = options.policy.fanout == 0;
  if (options.children && !all_at_once) usage_error("--tree and --fanout cannot be combined");
  if (sends && all_at_once && (options.children || request.exec.hosts.size() >= kTreeFrom))
    request.children = options.children.value_or(kChildren);
  request.progress = ::isatty(STDERR_FILENO) == 1;
  exec::ExecRequest& run = request.exec;
  run.policy = options.policy;
  run.policy.start_timeout = start_timeout(options.where.reach);
  run.user = local_user().name;
  run.control_folders = socket_folders(own_variable, ::geteuid());
  asio::io_context io(1);
  const Routes routes = make_routes(io, run.hosts, options.where.reach, run.policy.node_timeout);
  run.routes = routes.by_host;
  return copy::run_copy(io, std::move(request));
}

int run_copy_command(int argc, char** argv) {
  CopyOptions options;
  return run_with(kCopyCommand, copy_table(options), options, argc, argv);
}

int run_rcopy_command(int argc, char** argv) {
  CopyOptions options;
  return run_with(kRcopyCommand, rcopy_table(options), options, argc, argv);
}

int run_node(int argc, char** /*argv*/) {
  if (argc > 1) usage_error("dslaunch copy-node is started by dslaunch copy and rcopy");
  return copy::run_copy_node();
}

constexpr std::string_view kCopyDetails =
    R"(Copies files, and with -r folders, from this machine to every node. TARGET is a folder if it ends
in / or if there are several sources; otherwise it is decided on each node as by cp. Relative
targets start at the home directory. A file gets its name once all of its bytes are there and their
digest agrees. A file that is equal already is not sent, and an interrupted copy is resumed.

Nodes are independent: a failure on one does not stop the others.

Exit code: 0; 1 something was not copied on a node, 69 a node was not reached or was lost, 124 a
timeout, 64 usage error, 65 a source or list that cannot be read, 129, 130 and 143 after a signal.)";

constexpr std::string_view kRcopyDetails =
    R"(Gets files, and with -r folders, from every node and writes each to FOLDER/NAME.HOST, also with a
single node. FOLDER is made if it does not exist. Relative sources start at the home directory. A
file gets its name once all of its bytes are there and their digest agrees. A file that is equal
already is not sent, and an interrupted copy is resumed. Nodes expand patterns: quote '/var/log/*'.

Exit code: as for dslaunch copy.)";

}  // namespace

const Command kCopyCommand{.name = "copy",
                           .summary = "Copy files to many machines (as pdcp, clush -c)",
                           .run = run_copy_command,
                           .synopsis = "[options] SOURCE... TARGET",
                           .details = kCopyDetails,
                           .options = shown_table<CopyOptions, copy_table>};

const Command kRcopyCommand{.name = "rcopy",
                            .summary = "Get files from many machines (as rpdcp, clush --rcopy)",
                            .run = run_rcopy_command,
                            .synopsis = "[options] SOURCE... FOLDER",
                            .details = kRcopyDetails,
                            .options = shown_table<CopyOptions, rcopy_table>};

const Command kCopyNodeCommand{.name = "copy-node", .summary = "", .run = run_node};

}  // namespace ds::launcher
