// Asks the person at this machine for a pass phrase: at the terminal, or by the program of
// SSH_ASKPASS.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ds::launcher {

enum class AskWay { none, terminal, program };

/// As ssh chooses by SSH_ASKPASS, SSH_ASKPASS_REQUIRE (never, prefer, force), DISPLAY and
/// WAYLAND_DISPLAY. Pure. `terminal`: there is one, and we are in its foreground.
AskWay choose_ask_way(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    bool terminal);

/// The way for this process as it is now.
AskWay ask_way();

/// What the person has typed, without the end of the line; nothing if there is no answer. Waits two
/// minutes for a program, and for a terminal as long as it takes; a signal that ends us there does
/// so after the terminal is as it was. What is typed is not shown.
std::optional<std::string> ask_pass_phrase(const std::string& prompt);

}  // namespace ds::launcher
