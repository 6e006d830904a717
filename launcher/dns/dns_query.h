// One question to one name server, asked by c-ares on an Asio event loop.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "launcher/dns/lookup_state.h"

namespace ds::launcher {

struct DnsQuestion {
  std::string name{};  // full, without the trailing dot
  bool ipv6 = false;   // type AAAA, else A
  std::string server{};
  std::uint16_t port = 53;
  bool tcp = false;  // from the start; truncated answers are fetched over TCP anyway
  std::chrono::milliseconds timeout{1000};
};

/// A query under way. Destroying it ends it and silences its callback.
using DnsQuery = std::shared_ptr<void>;

/// Sends a question; without an answer within `timeout` once more, and then waits twice as long.
/// Each query has a channel of its own, so that its port and id are random and so that no two
/// queries share a port: Linux loses one of two packets that leave one port at the same moment
/// behind address translation. For this reason the query cache of c-ares 1.31 has nothing to say.
/// Threads: the io_context's. `done` comes once, never from inside the call.
DnsQuery send_dns_query(asio::io_context& io, const DnsQuestion& question,
                        std::function<void(DnsAnswer)> done);

}  // namespace ds::launcher
