// What the user says about the place where the ranks of a job meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/hosts/network.h"

namespace ds::launcher {

struct MasterWish {
  std::string address{};                 // MASTER_ADDR; empty: to be found
  std::uint16_t port = 0;                // MASTER_PORT; 0: any that is free
  std::optional<InterfaceWish> iface{};  // of every node
  friend bool operator==(const MasterWish&, const MasterWish&) = default;
};

}  // namespace ds::launcher
