// Reaches this machine: an agent of its own behind a socket pair, no sshd needed.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Forks guard and agent without exec while this process has one thread (cheap: a millisecond),
/// else executes itself as `dslaunch agent`. Threads: the io_context's only.
std::unique_ptr<Transport> make_local_transport(asio::io_context& io);

}  // namespace ds::launcher
