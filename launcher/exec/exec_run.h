// Runs one command on many nodes: performs the actions of Fanout on one event loop.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/exec/exec_output.h"
#include "launcher/exec/fanout.h"
#include "launcher/exec/pdsh_style.h"
#include "launcher/fleet/agent_links.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

struct ExecRequest {
  std::vector<Host> hosts;
  std::vector<NodeRoute> routes;  // by node, in the order of the hosts
  std::vector<std::string> argv;
  std::string subcommand = "exec";  // for `dslaunch ps`
  bool shell = true;                // argv, joined by spaces, goes to the login shell
  bool fill_percents = true;        // %h, %n, %u
  std::string user;                 // for %u if a host names no user
  std::string folder;               // empty: the home directory
  bool leave = false;               // keep background processes of the command alive
  bool here = false;  // run on this machine, in its current directory, without a shell
  std::optional<PdshStyle> pdsh{};  // print as pdsh does
  ExecPolicy policy;
  ExecOutputSetup output;
  int in_fd = -1;                            // copied to every command; -1: /dev/null
  std::vector<std::string> control_folders;  // folders for the private socket; empty: none
};

/// Exit code and results of one run.
struct ExecOutcome {
  int code = 0;
  std::vector<NodeResult> results;  // by node
};

/// Standard input that differs from node to node. At most Stdin::kWindow bytes of a node may be on
/// their way: what was sent less what was taken.
class ProgramInput {
 public:
  using Send = std::function<void(int node, const Stdin&)>;
  virtual ~ProgramInput() = default;
  /// Called once, before any other function.
  virtual void begin(Send send) = 0;
  /// The program of a node runs: it may be sent bytes.
  virtual void started(int node) = 0;
  /// The program of a node has read `bytes` more.
  virtual void taken(int node, std::uint64_t bytes) = 0;
  /// The program of a node has ended, or the node is lost.
  virtual void left(int node) = 0;
};

/// Hooks for callers that run their own programs on nodes and read the output.
struct ExecHooks {
  /// Returns the program to run instead of the request's command. Called after the agent's Hello.
  std::function<ProgramSpec(int node, const Hello& hello)> program;
  /// Receives all output instead of the terminal.
  std::function<void(int node, const Output& output)> take;
  /// Gives the programs their standard input, in place of ExecRequest::in_fd.
  ProgramInput* input = nullptr;
  /// Receives the numeric address by which a node was reached.
  std::function<void(int node, const std::string& address)> reached;
};

/// Runs the command, relays its output, and handles HUP, INT, TERM and TSTP. Returns when all nodes
/// have ended and all output is written. With `hooks.take` no results are printed.
/// Errors:  Error{system} if the system refuses timers or signals.
ExecOutcome run_exec(asio::io_context& io, ExecRequest request, ExecHooks hooks = {});

/// Returns names that distinguish the nodes. Hosts that share a name get their port appended.
std::vector<std::string> node_names(const std::vector<Host>& hosts);

}  // namespace ds::launcher::exec
