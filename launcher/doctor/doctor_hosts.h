// Which hosts `dslaunch doctor` looks at.
#pragma once

#include <vector>

#include "launcher/doctor/doctor_options.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {

/// Those of the hostfile, or of --host; those of -w; without those of -x; then --include and its
/// like choose as for a job. Slots of slots=auto are not counted here.
/// Errors:  Error{usage} when there are none, Error{config} as for a job.
std::vector<Host> hosts_of(const DoctorOptions& options);

}  // namespace ds::launcher::doctor
