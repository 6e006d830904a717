// Options of `dslaunch doctor`, and the hosts that it checks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"

namespace ds::launcher::doctor {

struct DoctorOptions {
  std::optional<std::string> hostfile;
  HostOptions choice;                 // only the fields of selection_options()
  std::vector<std::string> lists;     // -w
  std::vector<std::string> excluded;  // -x
  std::string user;                   // -l
  std::optional<std::string> folder;  // --wdir
  std::vector<std::string> paths;     // --path
  std::chrono::milliseconds timeout{30'000};
  bool json = false;
  bool skip_bad = false;
  std::optional<std::string> good_hosts;
  ReachOptions reach;
  std::string example = "dslaunch doctor --hostfile hosts";  // for messages
};

/// Returns the option table. `options` must outlive it.
OptionTable doctor_table(DoctorOptions& options);

/// Returns the hosts of the hostfile or of --host, plus those of -w, minus those of -x, filtered by
/// --include, --exclude, --num-nodes and --num-gpus as for a job. slots=auto stays as it is.
/// Errors:  Error{usage} if there are no hosts, Error{config} as for a job.
std::vector<Host> hosts_of(const DoctorOptions& options);

}  // namespace ds::launcher::doctor
