// Reaches nodes through a program that carries bytes: the OpenSSH client, kubectl exec, a wrapper.
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
  std::string remote_command;                    // replaces {command}
  std::chrono::milliseconds start_limit{30000};  // until the first byte comes
  int window = 64;                               // programs between start and first byte
};

/// Each channel is one process in a session of its own. The process cannot ask for input at the
/// terminal, and a Ctrl-C does not reach it. on_noise gets its standard error.
/// Threads: the io_context's only. Trouble with one host is the reason of its ChannelEnd.
std::unique_ptr<Transport> make_exec_transport(asio::io_context& io, ExecOptions options);

}  // namespace ds::launcher
