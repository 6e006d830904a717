// Waits until the hosts of a job have their DNS records and answer, as pods do some time after
// their launcher.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "launcher/dns/dns_lookup.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

struct WaitForHosts {
  std::chrono::milliseconds limit{600'000};
  std::chrono::milliseconds news{10'000};
  std::size_t at_once = 64;                       // looks under way
  int port = 22;                                  // of hosts that name none
  std::function<void(const std::string&)> say{};  // a line for people, every `news` while waiting
  DnsOptions dns{};
};

/// Looks each host up (its `address` where it has one, else its name) on the schedule of
/// look_schedule.h and connects to its port, until every one has answered once; then each
/// Host::address is the numeric address that did, and Host::found_by the name it was found by.
/// Runs `io` meanwhile, which must have no other work.
/// Errors:  Error{unreachable} when `limit` is over, with a table of all missing hosts, how far
///          each got, and a hint.
void wait_for_hosts(asio::io_context& io, std::span<Host> hosts, const WaitForHosts& options);

}  // namespace ds::launcher
