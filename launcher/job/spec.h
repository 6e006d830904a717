// Builds the Spec, which tells a node which ranks to prepare on which devices. Pure.
#pragma once

#include <string>

#include "launcher/hosts/hostfile.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Returns the devices of a node's slots for all its ranks, if slots were chosen. If the node's
/// own environment names devices, slot 0 is the first of them.
EnvList device_env(const Host& host, const Hello& hello);

/// Returns the device of one rank's slot, for --devices own.
EnvList own_device_env(const Host& host, int local_rank, const Hello& hello);

/// Returns the visible device that the local rank selects, as CUDA_VISIBLE_DEVICES names it;
/// empty: unknown. `own`: --devices own; `given`: variables that the user sets for the rank.
std::string device_of_rank(const Host& host, int local_rank, bool own, const EnvList& given,
                           const Hello& hello);

/// Returns why the slots of a host cannot be used; empty if they can. `own`: --devices own.
std::string device_problem(const Host& host, bool own, const Hello& hello);

/// Builds the Spec of a node. `placement` is that of the epoch; `hello` and `local` are of the
/// agent that fills the node.
Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const Hello& hello, bool local);

/// Returns the GPU of a rank, as CUDA_VISIBLE_DEVICES names it; empty: unknown.
std::string device_of_rank(const JobRequest& request, const Placement& placement, int rank,
                           const Hello& hello);

}  // namespace ds::launcher
