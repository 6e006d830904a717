// What the root wants to know of a node: name, cores, limits, addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/wire/messages.h"

namespace ds::launcher {

Hello describe_node();

/// Thousandths of a core from the text of cpu.max ("50000 100000", "max 100000"). Pure.
std::optional<std::uint32_t> quota_of_cpu_max(std::string_view text);

}  // namespace ds::launcher
