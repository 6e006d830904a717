// Reaches this machine: starts an agent behind a socket pair, without sshd.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Forks guard and agent without exec while this process has one thread, which takes a millisecond.
/// With more threads it executes itself as `dslaunch agent`. Threads: the io_context's only.
std::unique_ptr<Transport> make_local_transport(asio::io_context& io);

}  // namespace ds::launcher
