// Lookup of jobs: from a typed id to a connection with the job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/command.h"
#include "launcher/control/job_client.h"

namespace ds::launcher {

/// Returns every running job of this user on this machine. Prints a line to standard error for each
/// folder that it does not trust.
std::vector<LiveJob> own_jobs();

/// Returns the jobs whose ids begin with these words, each once. An empty word means the only job.
/// Errors:  as choose_job.
std::vector<LiveJob> chosen_jobs(std::vector<LiveJob> jobs, const std::vector<std::string>& words);

/// Returns the job that the words of a subcommand name; without a word, the only job.
/// Errors:  Error{usage} for several words; as choose_job.
LiveJob only_job(const Command& command, const std::vector<std::string>& words,
                 std::vector<LiveJob> jobs);

/// Waits for the job's answer to the last request and returns it.
/// Errors:  Error{unreachable} if the job refuses or does not answer within 5 s.
ControlMessage answer_of(LiveJob& job);

/// Asks the job for its facts.   Errors:  as answer_of.
JobInfo info_of(LiveJob& job);

/// Returns the first 8 digits of a job's id, for messages.
std::string short_id(const std::string& id);

/// Returns the ended job whose id begins with `typed`; nothing if there is none or more than one.
std::optional<EndedJob> ended_job(std::string_view typed);

}  // namespace ds::launcher
