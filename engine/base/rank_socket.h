// Datagrams of the rank channel on a SOCK_SEQPACKET socket, each with at most one descriptor.
// Nothing here blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace ds {

enum class Sent : std::uint8_t { yes, not_now, never };

/// Sends a datagram; `fd` travels with it unless it is -1. `not_now`: the other side does not read,
/// or the system has no room. `never`: the other side has closed its end.
Sent send_datagram(int socket, std::string_view text, int fd = -1);

struct Datagram {
  enum class Kind : std::uint8_t {
    none,     // nothing has arrived
    whole,    // `text` and `fd`
    too_long  // longer than kMaxRankMessage, so that it is lost
  };
  Kind kind = Kind::none;
  bool ended = false;  // the other side has closed its end
  std::string text{};
  UniqueFd fd;  // the first that came with it; all others are closed
};

/// Reads one datagram. An empty one counts as the end.
Datagram receive_datagram(int socket);

}  // namespace ds
