// The kubexec.sh of et-operator (and of mpi-operator's first versions) as words of an exec
// transport. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Whether a path names such a script: its last part is kubexec.sh.
bool is_kubexec(std::string_view path);

/// The script runs `kubectl exec ${POD_NAME} ... -- /bin/sh -c "$*"`: without -i, so that nothing
/// reaches the command's standard input, which is the channel to an agent. This is its kubectl with
/// -i, as words for fill_exec_template. Nothing if the script has another form, or has -i: then it
/// is run as it is.
std::optional<std::vector<std::string>> kubexec_words(std::string_view script);

}  // namespace ds::launcher
