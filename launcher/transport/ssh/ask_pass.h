// Asks the user for a pass phrase: at the terminal, or by the program of SSH_ASKPASS.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ds::launcher {

enum class AskMethod { none, terminal, program };

/// Chooses as ssh does, by SSH_ASKPASS, SSH_ASKPASS_REQUIRE (never, prefer, force), DISPLAY and
/// WAYLAND_DISPLAY. `terminal`: there is one, and we are in its foreground. Pure.
AskMethod choose_ask_method(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    bool terminal);

/// Returns the method that this process can use now.
AskMethod ask_method();

/// Asks, and returns what was typed, without the end of the line; nothing if there is no answer.
/// Waits two minutes for a program, and without a limit at a terminal. A signal that ends us takes
/// effect after the terminal is restored. The typed text is not shown.
std::optional<std::string> ask_pass_phrase(const std::string& prompt);

}  // namespace ds::launcher
