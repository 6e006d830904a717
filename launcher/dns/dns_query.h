// One question to one name server over UDP or TCP, and its proven answer.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "launcher/dns/dns_packet.h"

namespace ds::launcher {

/// Exactly one of both, and nothing when the server is silent.
struct DnsQueryEvents {
  std::function<void(const DnsReply&)> on_reply;
  std::function<void(const std::string& why)> on_trouble;
};

/// Under way. Destroying it ends it and silences its events.
class DnsQuery {
 public:
  virtual ~DnsQuery() = default;
};

/// The socket is this query's alone, so that its port is random too and that no two packets of one
/// port race (Linux loses one of them behind address translation); it is connected, so that only
/// the server's answers arrive. An answer with another id or question is passed over (UDP), or is
/// trouble (TCP). Events come from the io_context's thread, never from inside the call.
std::unique_ptr<DnsQuery> send_dns_query(asio::io_context& io,
                                         const asio::ip::udp::endpoint& server, bool tcp,
                                         const DnsQuestion& question, DnsQueryEvents events);

}  // namespace ds::launcher
