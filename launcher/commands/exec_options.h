// Values of the options of `dslaunch exec`, which are named as in pdsh and clush.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/cli/options_reach.h"
#include "launcher/exec/exec_output.h"
#include "launcher/exec/fanout.h"

namespace ds::launcher::exec {

struct ExecOptions {
  std::vector<std::string> lists;     // -w
  std::vector<std::string> excluded;  // -x
  std::vector<std::string> groups;    // -g
  std::optional<std::string> hostfile;
  std::string user;  // -l
  Fold fold = Fold::nothing;
  bool diff = false;
  bool prefixed = true;
  bool shell = true;
  bool fill_percents = true;
  std::string folder;  // --wdir
  bool no_input = false;
  bool leave = false;
  ExecPolicy policy;
  ReachOptions reach;
};

/// Returns the option table. `options` must outlive it.
OptionTable exec_table(ExecOptions& options);

}  // namespace ds::launcher::exec
