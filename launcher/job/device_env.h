// Slots that were chosen -> CUDA_VISIBLE_DEVICES. Pure.
#pragma once

#include <string>

#include "launcher/hosts/hostfile.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// For all ranks of a node: the devices of its slots, if some were chosen. Where the node's own
/// environment names devices, slot 0 is the first of those.
EnvList device_env(const Host& host, const Hello& hello);

/// With --devices own, for one rank: the device of its slot.
EnvList own_device_env(const Host& host, int local_rank, const Hello& hello);

/// Why the slots of a host cannot be had there; empty if they can. `own`: --devices own.
std::string device_problem(const Host& host, bool own, const Hello& hello);

}  // namespace ds::launcher
