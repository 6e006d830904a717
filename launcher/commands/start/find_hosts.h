// Hosts of a job: from options to hosts in order, with known slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/hostfile_watch.h"
#include "launcher/slurm/allocation.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Returns the allocation in which srun starts the agents: with --transport slurm, and by default
/// if its nodes are the hosts. Errors:  Error{config} for --transport slurm outside an allocation.
std::optional<Allocation> allocation_by_srun(const Options& options);

/// Reads the hostfile, applies the filters, and asks hosts with slots=auto for their slots. Without
/// a host in the options the result is found_list, reported by one line to `say`, or this machine.
/// Errors:  Error{config} for a name that does not exist, Error{unreachable} for a host that could
///          not be asked.
std::vector<Host> find_hosts(const Options& options,
                             const std::function<void(const std::string&)>& say);

/// Returns a reader of the hostfile, for a running job that follows its changes; null if the job has
/// none or its number of nodes is fixed.
HostfileReader hostfile_reader(const Options& options);

/// Sets the spares aside and places the ranks on the other hosts, with one group per program.
/// Errors:  Error{config} for hosts with too few slots.
PlacedJob place_job(const Options& options, std::vector<Host> hosts, std::uint64_t epoch);

/// Returns the ranks of a host with slots=auto: one per GPU, or one per core.
int auto_slots(const Hello& hello);

/// Returns the slots of a node for --map-by ppr:N:PART: N for each of its parts.
int slots_by_part(const RankMap& map, const Hello& node);

}  // namespace ds::launcher
