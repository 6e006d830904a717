// Runs `dslaunch copy` and `dslaunch rcopy`: one program on every node, and the root's end of it.
#pragma once

#include <asio/io_context.hpp>
#include <string>
#include <vector>

#include "launcher/exec/exec_run.h"
#include "launcher/wire/copy_messages.h"

namespace ds::launcher::copy {

struct CopyRequest {
  exec::ExecRequest exec;            // hosts, routes, fan-out, time limit
  CopyTask task;                     // without its seed
  std::vector<std::string> sources;  // of copy, on this machine
  std::string target;                // of rcopy, a folder of this machine
  int children = 0;       // nodes that each sender of copy serves; 0: the root sends to all
  bool progress = false;  // standard error is a terminal
};

/// Copies, prints what failed and a summary on standard error, and returns the exit code.
/// Errors:  Error{config} if a source or the target folder cannot be opened.
int run_copy(asio::io_context& io, CopyRequest request);

}  // namespace ds::launcher::copy
