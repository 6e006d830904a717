// Hosts that `dslaunch doctor` checks.
#pragma once

#include <vector>

#include "launcher/commands/doctor_options.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {

/// Returns the hosts of the hostfile or of --host, plus those of -w, minus those of -x, filtered by
/// --include, --exclude, --num-nodes and --num-gpus as for a job. slots=auto stays as it is.
/// Errors:  Error{usage} if there are no hosts, Error{config} as for a job.
std::vector<Host> hosts_of(const DoctorOptions& options);

}  // namespace ds::launcher::doctor
