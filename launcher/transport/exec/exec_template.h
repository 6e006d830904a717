// Parses the command line of `--transport exec:CMD` and fills in its tokens for a host. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Splits a command line as a shell does, at blanks, with '...', "..." and backslash. Variables,
/// patterns, ; and | have no meaning.
/// Errors:  Error{usage}: a quote that is not closed, no word, an unknown {token}.
std::vector<std::string> parse_exec_template(std::string_view text);

/// Replaces {host}, {addr} (the hostfile's addr=, else the name), {user} (`local_user` if the
/// hostfile gives none), {port} (22 if it gives none) and {command}, the shell command that starts
/// an agent. Without {command} that is the last word. Without any token the program is run as
/// mpirun runs its rsh agent: PROGRAM HOST COMMAND. Errors:  Error{config}: no token takes a user,
/// port or address of the hostfile, or the program
///          would take a value for an option.
std::vector<std::string> fill_exec_template(const std::vector<std::string>& words, const Host& host,
                                            const std::string& local_user,
                                            const std::string& command);

}  // namespace ds::launcher
