// Options of connections: how dslaunch reaches the nodes.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

enum class TransportChoice { automatic, ssh, local, slurm, exec, join };

struct ReachOptions {
  TransportChoice transport = TransportChoice::automatic;
  std::vector<std::string> exec_words;    // for TransportChoice::exec; see exec_template.h
  std::optional<std::string> agent_path;  // path of dslaunch on the nodes
  bool push = true;                       // copy dslaunch to nodes that lack it, by ssh only;
                                          // ignored with agent_path
  std::chrono::milliseconds connect_timeout{10'000};
  int window = 64;                        // connections opened at once
  std::optional<std::string> ssh_config;  // replaces ~/.ssh/config
  std::vector<std::string> known_hosts;   // replaces the files of the ssh configuration
};

std::span<const OptionDef<ReachOptions>> reach_options();

}  // namespace ds::launcher
