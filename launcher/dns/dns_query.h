// Basic uses of c-ares in this folder: a channel that closes itself, addresses as text, and one
// question to one name server, asked on an Asio event loop.
#pragma once

#include <ares.h>
#include <arpa/inet.h>

#include <array>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "launcher/dns/lookup_state.h"

namespace ds::launcher {

struct CloseChannel {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using AresChannel = std::unique_ptr<std::remove_pointer_t<ares_channel>, CloseChannel>;

struct AresOptions {
  std::string resolv_conf = "/dev/null";
  std::string lookups = "b";  // "b": name servers, "f": the hosts file
  bool tcp = false;
  int timeout_ms = 1000;  // of the first try; the second one has twice as much
  ares_sock_state_cb on_socket = nullptr;
  void* self = nullptr;  // first argument of on_socket
};

/// Opens a channel; null if c-ares cannot (out of memory).
inline AresChannel open_channel(AresOptions options) {
  static const int initialized = ares_library_init(ARES_LIB_INIT_ALL);
  ares_options ares{};
  // Error codes of a server come as answers. Otherwise 1.18 reports them as "could not contact".
  ares.flags = ARES_FLAG_NOCHECKRESP | (options.tcp ? ARES_FLAG_USEVC : 0);
  ares.timeout = options.timeout_ms;
  ares.tries = 2;
  ares.lookups = options.lookups.data();
  ares.resolvconf_path = options.resolv_conf.data();
  ares.sock_state_cb = options.on_socket;
  ares.sock_state_cb_data = options.self;
  ares_channel channel = nullptr;
  const int status =
      ares_init_options(&channel, &ares,
                        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                            ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB);
  return AresChannel(initialized == ARES_SUCCESS && status == ARES_SUCCESS ? channel : nullptr);
}

/// Returns an address of AF_INET (4 bytes) or AF_INET6 (16 bytes) as text.
inline std::string numeric_text(int family, const void* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, bytes, text.data(), text.size());
  return text.data();
}

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
