// What the root wants to know of a node: name, cores, limits, addresses; and a port held for
// MASTER_PORT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

Hello describe_node();

/// Thousandths of a core from the text of cpu.max ("50000 100000", "max 100000"). Pure.
std::optional<std::uint32_t> quota_of_cpu_max(std::string_view text);

struct HeldPort {
  UniqueFd socket;
  std::uint16_t port = 0;  // 0: none could be had
};
/// Bound with SO_REUSEADDR and not listening: a framework's own store can bind over it, while no
/// other program is given the port.
HeldPort hold_free_port();

}  // namespace ds::launcher
