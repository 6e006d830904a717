// The constant commands that start an agent on another node. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// The first try: path and one word, nothing for a shell to do but to become it. Empty for a path
/// with characters that shells take differently.
std::string direct_agent_command(std::string_view self_path);

/// For where that does not start an agent. A line that sh, bash, dash, csh, tcsh, fish and zsh
/// understand alike. It runs this binary's own path on the node, else dslaunch on PATH there, else
/// says clearly that there is none and exits 127.
std::string remote_agent_command(std::string_view self_path);

}  // namespace ds::launcher
