// The nodes that Slurm has given to this job, from the environment. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// One variable of an environment, or nothing.
using SlurmVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Nodes that were asked for together: all of them, or one component of a heterogeneous job.
struct AllocatedGroup {
  int component = 0;               // its number in a heterogeneous job
  std::vector<std::string> names;  // without those that an earlier group has too; never empty
  std::optional<int> cpus_each{};  // of the job on each of them, where they are equal
};

struct Allocation {
  std::string job;             // its number; of a heterogeneous job, of its first component
  std::uint32_t restarts = 0;  // how often it was requeued
  std::vector<Host> hosts;     // in Slurm's order; a node of two components once
  bool heterogeneous = false;
  std::vector<AllocatedGroup> groups;      // one, or the components of a heterogeneous job
  std::string nodes_from;                  // SLURM_JOB_NODELIST
  std::string slots_from;                  // what gave the slots: SLURM_GPUS_ON_NODE
  std::optional<std::int64_t> end_time{};  // Unix seconds, where Slurm tells it
};

/// Whether this process is inside of an allocation.
bool in_allocation(const SlurmVariable& variable);

/// The allocation that this process is in; nothing outside of one. Slots of a node are its GPUs
/// where the job has some, else its tasks, else 1; they are kAutoSlots where the job has GPUs, and
/// how many on which node is not to be seen from here.
/// Errors:  Error{config}: an allocation without nodes, lists that cannot be read, numbers and ids
///          that contradict each other.
std::optional<Allocation> find_allocation(const SlurmVariable& variable);

}  // namespace ds::launcher
