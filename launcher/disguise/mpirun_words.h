// Parsed options of mpirun for each program. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

/// Variable of `-x NAME` or `-x NAME=value`.
struct MpiVariable {
  std::string name;
  std::optional<std::string> value{};
};

/// Options before one program. Options of the job stand before the first program.
struct MpiWords {
  // Options of any program.
  std::optional<std::string> ranks{};
  std::vector<std::string> hosts{};
  std::vector<MpiVariable> variables{};
  std::optional<std::string> wdir{};
  // Options of the job.
  std::optional<std::string> hostfile{}, per_host{}, map_by{}, iface{}, rsh_agent{};
  std::optional<std::string> timeout{}, max_restarts{}, input{}, log_dir{}, env_policy{}, prefix{};
  std::optional<std::string> bind{};
  bool report_bindings = false;
  bool oversubscribe = false, timestamps = false, dry_run = false;
  bool hydra = false;                  // an option was given that only Hydra has
  std::string job_option{};            // last given option of the job, for messages
  std::vector<std::string> modules{};  // names of --mca without effect
  std::vector<std::string> notes{};
};

std::span<const ForeignDef<MpiWords>> mpi_table();

}  // namespace ds::launcher
