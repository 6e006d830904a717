// Runs one command on many nodes: carries out what ExecState decides, on one event loop.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <string>
#include <vector>

#include "launcher/exec/exec_output.h"
#include "launcher/exec/exec_state.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/job/job.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

struct ExecRequest {
  std::vector<Host> hosts;
  std::vector<NodeRoute> routes;  // by node, as the hosts
  std::vector<std::string> argv;
  bool shell = true;          // argv, joined by spaces, goes to the login shell
  bool fill_percents = true;  // %h, %n, %u
  std::string user;           // for %u, where a host names none
  std::string folder;         // empty: the home directory
  ExecPolicy policy;
  ExecOutputSetup output;
  int in_fd = -1;                            // every command gets a copy of it; -1: /dev/null
  std::vector<std::string> control_folders;  // for its private socket; empty: none
};

/// How it went.
struct ExecOutcome {
  int code = 0;
  std::vector<NodeResult> results;  // by node
};

/// For those who run something on nodes for themselves.
struct ExecHooks {
  /// Instead of the command of the request; asked when the agent of a node has greeted.
  std::function<ProgramSpec(int node, const Hello& hello)> program;
  /// Gets all output instead of the terminal.
  std::function<void(int node, const Output& output)> take;
  /// The numeric address by which a node was reached.
  std::function<void(int node, const std::string& address)> reached;
};

/// Runs the command, relays its output, handles HUP, INT, TERM and TSTP, and returns once
/// everything is over and written. With `hooks.take` nothing is said about results.
/// Errors:  Error{system} if the machine refuses timers or signals.
ExecOutcome run_exec(asio::io_context& io, ExecRequest request, ExecHooks hooks = {});

/// The names by which nodes are told apart: of hosts that share a name the port is part of it.
std::vector<std::string> node_names(const std::vector<Host>& hosts);

}  // namespace ds::launcher::exec
