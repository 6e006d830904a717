// Facts about this node for Hello: name, processors, addresses, GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns a Hello with all facts; what cannot be read stays empty.
Hello describe_node();

/// Returns thousandths of a core from the content of cpu.max ("50000 100000", "max 100000"). Pure.
std::optional<std::uint32_t> quota_of_cpu_max(std::string_view text);

struct NodeDevices {
  std::vector<std::string> names;  // as in CUDA_VISIBLE_DEVICES
  bool limited = false;            // the environment selects them; else all of the node
};

/// Returns the GPUs that programs may use, from CUDA_VISIBLE_DEVICES, else from the device files of
/// the driver. A container has only the device files that it was given.
NodeDevices find_devices();

/// Returns the entries of a CUDA_VISIBLE_DEVICES up to the first negative one. Pure.
std::vector<std::string> split_visible_devices(std::string_view text);

}  // namespace ds::launcher
