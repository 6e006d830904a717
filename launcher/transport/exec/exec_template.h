// The command line of `--transport exec:...`: words with tokens, filled in for each host. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Words as a shell would cut them: blanks, '...', "...", backslash. Nothing else of a shell is
/// there: no variables, no patterns, no ; or |.
/// Errors:  Error{usage}: a quote that is not closed, no word, an unknown {token}.
std::vector<std::string> parse_exec_template(std::string_view text);

/// {host}, {addr} (the hostfile's addr=, else the name), {user} (without one in the hostfile:
/// `local_user`), {port} (without one: 22) and {command}, the line that starts an agent, for a
/// shell; it is the last word if nobody names it. Without any token the program is run as mpirun
/// runs its rsh agent: PROGRAM HOST COMMAND. Errors:  Error{config}: the hostfile gives a user,
/// port or address that no token takes, or a value that
///          would be an option of the program.
std::vector<std::string> fill_exec_template(const std::vector<std::string>& words, const Host& host,
                                            const std::string& local_user,
                                            const std::string& command);

}  // namespace ds::launcher
