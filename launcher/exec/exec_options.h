// Options of `dslaunch exec`, spelt as pdsh and clush spell them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/cli/options_reach.h"
#include "launcher/exec/exec_output.h"
#include "launcher/exec/exec_state.h"

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
  ExecPolicy policy;
  ReachOptions reach;
};

/// `options` must outlive the table.
OptionTable exec_table(ExecOptions& options);

}  // namespace ds::launcher::exec
