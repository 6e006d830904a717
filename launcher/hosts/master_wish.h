// Options of the rendezvous: MASTER_ADDR, MASTER_PORT and the network interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/hosts/network.h"

namespace ds::launcher {

struct MasterWish {
  std::string address{};                 // MASTER_ADDR; empty: chosen by dslaunch
  std::uint16_t port = 0;                // MASTER_PORT; 0: any free port
  std::optional<InterfaceWish> iface{};  // on every node
  friend bool operator==(const MasterWish&, const MasterWish&) = default;
};

}  // namespace ds::launcher
