// The command line of `dslaunch` as a value. Pure: nothing is read, resolved or printed here.
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

/// `dslaunch train.toml key=value ...`; the path is as typed.
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
  MasterWish master;
  PodOptions pods;
  ControlOptions control;
  TrainOptions training;  // already among the overrides of `train`

  // Exactly one of the two when action is run.
  std::optional<TrainForm> train;
  std::vector<std::string> command;
  std::vector<MoreProgram> more_programs;  // behind ` : `, after `command`
};

/// Reads the command line; `argv[0]` is skipped.
/// `time_left`: of the allocation that this process is in; the deadline of --pre-signal where
/// --timeout sets none, less the time that ranks get to stop.
/// Errors:  Error{usage} naming the word that is wrong, with a hint.
Options parse_args(int argc, const char* const* argv,
                   std::optional<std::chrono::milliseconds> time_left = {});

/// Every option of `dslaunch` without a subcommand; `options` must outlive the table.
OptionTable option_table(Options& options);

/// The same for `dslaunch agent --join`, argv[0] being `agent`: the other options of a job, and
/// those that choose hosts or ways to them are refused. With --root there is no command.
Options parse_agent_args(int argc, const char* const* argv);
OptionTable agent_table(Options& options);
/// Of these the ones that `dslaunch` itself has not.
OptionTable own_agent_table(Options& options);

}  // namespace ds::launcher
