// Running jobs as people see them: the table of `dslaunch ps`, and which job a typed id means.
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/control/messages.h"

namespace ds::launcher {

/// "12s", "3m", "4h05m", "2d03h".
std::string age_text(std::chrono::milliseconds age);

/// A command line that a shell would read as these words.
std::string command_text(const std::vector<std::string>& words);

/// Oldest first; ids as short as they can be told apart (8 digits or more), control bytes as '?',
/// long commands cut to `columns` (0: never). `now_ms` since 1970.
std::string jobs_table(std::vector<JobInfo> jobs, std::uint64_t now_ms, std::size_t columns);

/// An array of objects: id, state, pid, host, started (RFC 3339), age_seconds, ranks, ranks_left,
/// nodes, folder, log, step, checkpoint, command.
std::string jobs_json(std::vector<JobInfo> jobs, std::uint64_t now_ms);

/// The one id that begins with `typed`; with an empty `typed`, the only one there is.
/// Errors:  Error{usage} when none or several match, with the ids to choose from.
std::string choose_job(std::string_view typed, const std::vector<std::string>& ids);

}  // namespace ds::launcher
