// Reaches nodes by a program that gives a pipe: the OpenSSH client, kubectl exec, a site's wrapper.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "launcher/transport/transport.h"

namespace ds::launcher {

struct ExecOptions {
  std::vector<std::string> words;                // of parse_exec_template
  std::string remote_command;                    // what {command} stands for
  std::chrono::milliseconds start_limit{30000};  // until the first byte comes
  int window = 64;                               // programs between start and first byte
};

/// Each channel is one process, in a session of its own: it cannot ask at the terminal, and a
/// Ctrl-C there does not reach it. What it writes to standard error is noise.
/// Threads: the io_context's only. Trouble with one host is the reason of its ChannelEnd.
std::unique_ptr<Transport> make_exec_transport(asio::io_context& io, ExecOptions options);

}  // namespace ds::launcher
