// Texts about running jobs: the table of `dslaunch ps`, and the choice of a job by its id. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/control/messages.h"

namespace ds::launcher {

/// Formats an age as "12s", "3m05s", "4h05m" or "2d03h".
std::string age_text(std::chrono::milliseconds age);

/// Quotes the words so that a shell reads them unchanged.
std::string command_text(std::vector<std::string> words);

/// Formats the table, oldest job first. Ids are as short as they are distinct (8 digits or more),
/// control bytes become '?', commands are cut to `columns` (0: never). `now_ms`: since 1970.
std::string jobs_table(std::vector<JobInfo> jobs, std::uint64_t now_ms, std::size_t columns);

/// Formats an array of objects: id, state, pid, host, started (RFC 3339), age_seconds, ranks,
/// ranks_left, nodes, folder, log, step, checkpoint, command.
std::string jobs_json(std::vector<JobInfo> jobs, std::uint64_t now_ms);

/// Returns the one id that begins with `typed`, or the only id if `typed` is empty.
/// Errors:  Error{usage} if none or several match, with the ids to choose from.
std::string choose_job(std::string_view typed, const std::vector<std::string>& ids);

}  // namespace ds::launcher
