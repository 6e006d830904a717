// Ports of this node: one held for MASTER_PORT, and a listener beside it.
#pragma once

#include <cstdint>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct HeldPort {
  UniqueFd socket;
  std::uint16_t port = 0;  // 0: none could be had
  int problem = 0;         // errno, if none could be had
};
/// Bound with SO_REUSEADDR and not listening: a framework's own store can bind over it, while no
/// other program is given the port. `wanted` 0: any free port.
HeldPort hold_port(std::uint16_t wanted);

/// Listens on a held port, at all addresses of this node, and never blocks; empty if the system
/// does not let us.
UniqueFd listen_beside(const HeldPort& held);

}  // namespace ds::launcher
