// `dslaunch doctor`: runs `node-facts` on every node, compares the answers and prints a report.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/doctor_options.h"
#include "launcher/commands/start/routes.h"
#include "launcher/doctor/collect.h"
#include "launcher/doctor/report.h"
#include "launcher/doctor/reverse_names.h"
#include "launcher/doctor/run_tool.h"
#include "launcher/exec/exec_run.h"

namespace ds::launcher {
namespace {

using namespace doctor;
using namespace std::chrono_literals;

// Prefixes of the arguments of `dslaunch node-facts`.
constexpr std::string_view kFolder = "folder:";
constexpr std::string_view kCheck = "check:";
constexpr std::string_view kWord = "word:";
constexpr std::chrono::seconds kCheckLimit{60};
constexpr std::chrono::seconds kNamesLimit{5};
constexpr std::size_t kMostText = std::size_t{4} << 20;

std::int64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

// Code that runs on a node.

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, text.data(), text.size());
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

int run_node_facts(int argc, char** argv) {
  CollectRequest request;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kFolder))
      request.folders.emplace_back(word.substr(kFolder.size()));
    else if (word.starts_with(kCheck))
      request.check = word.substr(kCheck.size());
    else if (word.starts_with(kWord))
      request.check_words.emplace_back(word.substr(kWord.size()));
    else
      usage_error("dslaunch node-facts is started by dslaunch doctor");
  }
  collect_facts(request, write_all);
  return 0;
}

// Code that runs at the root.

std::vector<std::string> facts_words(const DoctorOptions& options,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"node-facts"};
  const auto add = [&](std::string_view kind, const std::string& word) {
    argv.push_back(std::string(kind) + word);
  };
  add(kFolder, absolute(options.folder.value_or(".")));
  add(kFolder, "/tmp");
  for (const std::string& path : options.paths) add(kFolder, absolute(path));
  if (words.empty()) return argv;
  add(kCheck, absolute(words.front()));
  for (std::size_t i = 1; i < words.size(); ++i) add(kWord, words[i]);
  return argv;
}

/// Output of one node, with the times when it was asked and when the first bytes came (Unix, ms).
struct Answer {
  std::string facts, errors;
  std::int64_t asked_ms = 0, first_ms = 0;
};

exec::ExecHooks hooks_for(std::vector<Answer>& answers, std::vector<NodeReport>& nodes,
                          const std::vector<std::string>& words) {
  const auto at = [](int node) { return static_cast<std::size_t>(node); };
  exec::ExecHooks hooks;
  hooks.program = [&, at](int node, const Hello& hello) {
    answers[at(node)].asked_ms = wall_ms();
    ProgramSpec program;
    // The file that the agent runs from, independent of its path.
    program.argv = {fmt::format("/proc/{}/exe", hello.pid)};
    program.argv.insert(program.argv.end(), words.begin(), words.end());
    program.at_home = true;
    return program;
  };
  hooks.take = [&, at](int node, const Output& output) {
    Answer& answer = answers[at(node)];
    std::string& text = output.stream == 1 ? answer.facts : answer.errors;
    if (output.stream == 1 && text.empty()) answer.first_ms = wall_ms();
    if (text.size() < kMostText)
      text.append(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
  };
  hooks.reached = [&, at](int node, const std::string& address) {
    nodes[at(node)].address = address;
  };
  return hooks;
}

void fill_reports(std::vector<NodeReport>& nodes, const std::vector<Answer>& answers,
                  const std::vector<exec::NodeResult>& results) {
  std::vector<std::string> addresses;
  for (const NodeReport& node : nodes) addresses.push_back(node.address);
  const std::vector<std::string> names = reverse_names(addresses, Deadline::after(kNamesLimit));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeReport& node = nodes[i];
    node.result = results[i];
    node.facts = parse_facts(answers[i].facts);
    node.said = last_line_of(answers[i].errors);
    node.reverse_name = names[i];
    if (node.facts.clock_ms == 0) continue;
    node.clock_from = node.facts.clock_ms - answers[i].first_ms;
    node.clock_to = node.facts.clock_ms - answers[i].asked_ms;
  }
}

void write_file(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw_errno("cannot write " + path, errno);
}

int tell(const DoctorOptions& options, const std::vector<Host>& hosts,
         const std::vector<NodeReport>& nodes) {
  const std::vector<Finding> findings = check_nodes(nodes);
  const std::vector<int> good = good_nodes(nodes, findings);
  const std::string report =
      options.json ? report_json(nodes, findings) : report_text(nodes, findings);
  const std::string good_text = hostfile_text(hosts, good);
  if (options.good_hosts) write_file(*options.good_hosts, good_text);
  if (options.skip_bad) {
    std::fputs(report.c_str(), stderr);
    print(good_text);
    return good.empty() ? contract::kExitUnreachable : 0;
  }
  print(report);
  return good.size() == nodes.size() ? 0 : contract::kExitUnreachable;
}

int run_doctor(int argc, char** argv) {
  DoctorOptions options;
  const auto words = read_command(kDoctorCommand, doctor_table(options), argc, argv);
  if (!words) return 0;
  if (!words->empty() && !words->front().ends_with(".toml"))
    usage_error(fmt::format("'{}' is not a .toml file", words->front()),
                "give hosts with --hostfile FILE or -w HOSTS");
  check_host_options(options.choice);
  exec::ExecRequest request;
  request.hosts = hosts_of(options);
  const std::vector<Host> hosts = request.hosts;
  const std::vector<std::string> names = exec::node_names(hosts);
  std::vector<NodeReport> nodes(hosts.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = names[i];
    nodes[i].slots = hosts[i].slots;
    nodes[i].devices = hosts[i].devices;
  }
  request.policy.command_timeout = options.timeout + (words->empty() ? 0ms : kCheckLimit);
  request.policy.start_timeout = start_timeout(options.reach);
  request.policy.grace = 1s;
  asio::io_context io(1);
  const Routes routes = make_routes(io, hosts, options.reach, request.policy.node_timeout);
  request.routes = routes.by_host;
  std::vector<Answer> answers(hosts.size());
  const exec::ExecOutcome outcome = exec::run_exec(
      io, std::move(request), hooks_for(answers, nodes, facts_words(options, *words)));
  if (outcome.code != 0) return outcome.code;  // a signal came
  fill_reports(nodes, answers, outcome.results);
  return tell(options, hosts, nodes);
}

constexpr std::string_view kDetails =
    R"(Connects to every node at once, collects facts there, and prints one line per node. An error means
that a node cannot be used: it was not reached (with the reason), has fewer GPUs than slots, has no
working directory, or lacks a path of --path. A warning reports what differs from most nodes
(dslaunch, kernel, processor, memory, GPUs, driver, limits) and what often causes failures (a full
disk, a small /dev/shm, a wrong clock, GPUs in use). With a train.toml every node also runs
`dsrunner --check` with the file and the overrides.

Exit code: 0 all nodes can be used, 69 at least one cannot, 64 usage error, 65 a hostfile that
cannot be read, 129, 130 and 143 after a signal.)";

}  // namespace

const Command kDoctorCommand{.name = "doctor",
                             .summary = "Check all machines at once before a job runs",
                             .run = run_doctor,
                             .synopsis = "[options] [train.toml [key=value ...]]",
                             .details = kDetails,
                             .options = shown_table<DoctorOptions, doctor_table>};

const Command kNodeFactsCommand{.name = "node-facts", .summary = "", .run = run_node_facts};

}  // namespace ds::launcher
