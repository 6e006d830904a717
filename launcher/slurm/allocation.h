// Slurm allocation of this process, from the environment. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Returns one environment variable, or nothing.
using SlurmVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Nodes that were requested together: the whole job, or one component of a heterogeneous job.
struct AllocatedGroup {
  int component = 0;               // index in a heterogeneous job
  std::vector<std::string> names;  // without nodes of earlier groups; never empty
  std::optional<int> cpus_each{};  // CPUs of the job on each node, if equal
};

struct Allocation {
  std::string job;             // job id; of a heterogeneous job, that of its first component
  std::uint32_t restarts = 0;  // number of requeues
  std::vector<Host> hosts;     // in Slurm's order; a node of two components appears once
  bool heterogeneous = false;
  std::vector<AllocatedGroup> groups;  // one, or the components of a heterogeneous job
  std::string nodes_from;              // variable with the nodes: SLURM_JOB_NODELIST
  std::string slots_from;              // variable with the slots: SLURM_GPUS_ON_NODE
};

/// Returns whether this process is inside an allocation.
bool in_allocation(const SlurmVariable& variable);

/// Returns the allocation of this process; nothing outside one. Slots of a node are its GPUs if the
/// job has GPUs, else its tasks, else 1. They are kAutoSlots if the job has GPUs but the
/// environment does not say how many each node has. Errors:  Error{config}: an allocation without
/// nodes, malformed lists, contradictory numbers or ids.
std::optional<Allocation> find_allocation(const SlurmVariable& variable);

}  // namespace ds::launcher
