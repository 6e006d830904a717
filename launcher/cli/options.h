// The command line of `dslaunch` as a value. Pure: nothing is read, resolved or printed here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

enum class DryRun { off, table, json };
enum class TransportChoice { automatic, ssh, local };
enum class LogLevel { error, warn, info, debug };

/// `-x NAME=value`, or `-x NAME` (no value): forward what the launcher's own environment has.
struct EnvForward {
  std::string name;
  std::optional<std::string> value;
  friend bool operator==(const EnvForward&, const EnvForward&) = default;
};

/// `dslaunch train.toml key=value ...`; the path is as typed.
struct TrainForm {
  std::string config;
  std::vector<std::string> overrides;
};

struct Options {
  enum class Action { run, show_help, show_version };
  Action action = Action::run;

  std::optional<std::string> hostfile;  // "-" is standard input; empty: this machine only
  std::optional<int> ranks;             // -n
  std::optional<std::string> wdir;
  std::vector<EnvForward> forward;  // in the order of the command line, each name once
  std::chrono::milliseconds grace{10'000};
  DryRun dry_run = DryRun::off;
  LogLevel log_level = LogLevel::info;

  TransportChoice transport = TransportChoice::automatic;
  std::optional<std::string> agent_path;  // dslaunch on the nodes
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds node_timeout{10'000};
  int window = 64;                        // connections being opened at once
  std::optional<std::string> ssh_config;  // instead of ~/.ssh/config
  std::vector<std::string> known_hosts;   // instead of the files of the ssh configuration

  // Exactly one of the two when action is run.
  std::optional<TrainForm> train;
  std::vector<std::string> command;
};

/// Reads the command line; `argv[0]` is skipped.
/// Errors:  Error{usage} naming the word that is wrong, with a hint.
Options parse_args(int argc, const char* const* argv);

/// Every option parse_args knows, with its dashes ("--hostfile", "-n"), for the help and its test.
std::vector<std::string> option_names();

}  // namespace ds::launcher
