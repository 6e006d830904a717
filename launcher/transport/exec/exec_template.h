// Parses the command line of `--transport exec:CMD`, and fills in its tokens for a host. Translates
// the kubexec.sh of et-operator, and of early mpi-operators, into such a line. Pure.
#pragma once

#include <optional>
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

/// Whether the last part of a path is kubexec.sh.
bool is_kubexec(std::string_view path);

/// Returns the kubectl command of the script with -i added, as words for fill_exec_template. The
/// script runs `kubectl exec ${POD_NAME} ... -- /bin/sh -c "$*"` without -i, so nothing reaches the
/// command's standard input, which is the channel to an agent. Returns nothing if the script has
/// another form or has -i already; it is run unchanged then.
std::optional<std::vector<std::string>> kubexec_words(std::string_view script);

}  // namespace ds::launcher
