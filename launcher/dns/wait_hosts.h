// Waits until all hosts of a job have a DNS record and accept a connection, because pods start
// later than their launcher.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <span>
#include <string>

#include "launcher/dns/dns_lookup.h"
#include "launcher/dns/wait_state.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

struct WaitForHosts : WaitLimits {
  int port = 22;                                  // of hosts without a port
  std::function<void(const std::string&)> say{};  // called every `news` with a line for the user
  DnsOptions dns{};
};

/// Looks up each host (its `address` where it has one, else its name) on the schedule of
/// pause_before_next_look and connects to its port, until every host has answered once. Then sets
/// each Host::address to the numeric address that answered, and Host::found_by to the name it
/// belongs to. Runs `io` meanwhile, which must have no other work. Errors:  Error{unreachable} when
/// `limit` is over, with a table of all missing hosts, the stage
///          of each, and a hint.
void wait_for_hosts(asio::io_context& io, std::span<Host> hosts, const WaitForHosts& options);

}  // namespace ds::launcher
