// What the options of mpirun say, program by program. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/disguise/foreign_options.h"

namespace ds::launcher {

/// `-x NAME` or `-x NAME=value`.
struct MpiVariable {
  std::string name;
  std::optional<std::string> value{};
};

/// The options before one program; those of the job stand before the first one.
struct MpiWords {
  // Of any program.
  std::optional<std::string> ranks{};
  std::vector<std::string> hosts{};
  std::vector<MpiVariable> variables{};
  std::optional<std::string> wdir{};
  // Of the job.
  std::optional<std::string> hostfile{}, per_host{}, map_by{}, iface{}, rsh_agent{};
  std::optional<std::string> timeout{}, max_restarts{}, input{}, log_dir{}, env_policy{}, prefix{};
  std::optional<std::string> bind{};
  bool report_bindings = false;
  bool oversubscribe = false, timestamps = false, dry_run = false;
  bool hydra = false;                  // an option that only Hydra has
  std::string job_option{};            // the last of the job's options, for messages
  std::vector<std::string> modules{};  // --mca NAME, without effect
  std::vector<std::string> notes{};
};

std::span<const ForeignDef<MpiWords>> mpi_table();

}  // namespace ds::launcher
