// Collectives over NCCL. Members meet over the host's groups, which carry NCCL's unique id and,
// after a failure, the place of each rank.
#pragma once

#include <memory>

#include "engine/comm/collectives.h"
#include "engine/device/device.h"

namespace ds::comm {

/// Uses the calling thread's device. Called by the plugin's entry. Every operation of a group takes
/// memory of the device (or of the tier pinned_host), but for combine(). Errors: Error{config} when
/// NCCL is missing.
std::unique_ptr<Collectives> make_nccl_collectives(Device& device, Collectives& host);

}  // namespace ds::comm
