// Command line of `dslaunch` as a value. Pure: reads no files, resolves no names, prints nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options_control.h"
#include "launcher/cli/options_env.h"
#include "launcher/cli/options_failure.h"
#include "launcher/cli/options_hosts.h"
#include "launcher/cli/options_logs.h"
#include "launcher/cli/options_master.h"
#include "launcher/cli/options_pods.h"
#include "launcher/cli/options_reach.h"
#include "launcher/cli/options_train.h"
#include "launcher/cli/programs.h"

namespace ds::launcher {

/// Train form: `dslaunch train.toml key=value ...`. The path is as typed.
struct TrainForm {
  std::string config;
  std::vector<std::string> overrides;
};

struct Options {
  enum class Action { run, show_help, show_full_help, show_version };
  Action action = Action::run;

  HostOptions hosts;
  EnvOptions env;
  FailureOptions failure;
  LogOptions logs;
  ReachOptions reach;
  MasterRequest master;
  PodOptions pods;
  ControlOptions control;
  TrainOptions training;  // already added to the overrides of `train`

  // Exactly one of `train` and `command` is set if action is run.
  std::optional<TrainForm> train;
  std::vector<std::string> command;
  std::vector<MoreProgram> more_programs;  // programs after ` : `; the first one is `command`
};

/// Parses the command line; skips `argv[0]`.
/// `time_left`: time until the end of the allocation that this process is in. It sets the deadline
/// of --pre-signal if --timeout does not, less the time that ranks get to stop.
/// Errors:  Error{usage} naming the wrong word, with a hint.
Options parse_args(int argc, const char* const* argv,
                   std::optional<std::chrono::milliseconds> time_left = {});

/// Returns the table of every option of the main command. `options` must outlive the table.
OptionTable option_table(Options& options);

/// Parses the command line of `dslaunch agent --join`, where argv[0] is `agent`. It has the options
/// of a job, except those that choose hosts or transports. With --root there is no command.
Options parse_agent_args(int argc, const char* const* argv);
OptionTable agent_table(Options& options);
/// Returns the options of `dslaunch agent --join` that the main command does not have.
OptionTable own_agent_table(Options& options);

}  // namespace ds::launcher
