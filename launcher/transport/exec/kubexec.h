// Translates the kubexec.sh of et-operator, and of early mpi-operators, into words of an exec
// transport. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Whether the last part of a path is kubexec.sh.
bool is_kubexec(std::string_view path);

/// Returns the kubectl command of the script with -i added, as words for fill_exec_template. The
/// script runs `kubectl exec ${POD_NAME} ... -- /bin/sh -c "$*"` without -i, so nothing reaches the
/// command's standard input, which is the channel to an agent. Returns nothing if the script has
/// another form or has -i already; it is run unchanged then.
std::optional<std::vector<std::string>> kubexec_words(std::string_view script);

}  // namespace ds::launcher
