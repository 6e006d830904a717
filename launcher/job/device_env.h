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

/// The device that a rank's own number picks of what it sees, as CUDA_VISIBLE_DEVICES names it;
/// empty where none is known. `own`: --devices own; `given`: what the user gives to the rank.
std::string device_of_rank(const Host& host, int local_rank, bool own, const EnvList& given,
                           const Hello& hello);

/// Why the slots of a host cannot be had there; empty if they can. `own`: --devices own.
std::string device_problem(const Host& host, bool own, const Hello& hello);

}  // namespace ds::launcher
