// Builds the commands that start an agent on another node. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// Begins the line by which the second command below names the program that it is about to run.
inline constexpr std::string_view kFoundMark = "dslaunch found: ";

/// Returns the first command to try: the path and one word, which every shell simply executes.
/// Empty for a path with characters that shells treat differently.
std::string direct_agent_command(std::string_view self_path);

/// Returns the command for nodes where the first one starts no agent. sh, bash, dash, csh, tcsh,
/// fish and zsh understand it alike. It runs this binary's own path on the node, else the dslaunch
/// on PATH, after a line with kFoundMark and the path. If there is neither, it prints so and exits
/// with 127.
std::string remote_agent_command(std::string_view self_path);

}  // namespace ds::launcher
