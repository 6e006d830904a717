// Values of ssh_config that have a grammar of their own. Pure; shared by the sources of ssh_config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config_choose.h"

namespace ds::launcher {

/// `[user@]host[:port]` or `ssh://[user@]host[:port]`, separated by commas: ProxyJump.
/// Errors:  Error{config}.
std::vector<Host> parse_jump_hosts(std::string_view text, const TextPlace& place);

/// Directives that are set for a host, make a difference, and are not honoured; a line each.
std::vector<std::string> ignored_directives(const ChosenDirectives& chosen);

}  // namespace ds::launcher
