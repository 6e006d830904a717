// Values of the options of `dslaunch doctor`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/cli/options_hosts.h"
#include "launcher/cli/options_reach.h"

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
};

/// Returns the option table. `options` must outlive it.
OptionTable doctor_table(DoctorOptions& options);

}  // namespace ds::launcher::doctor
