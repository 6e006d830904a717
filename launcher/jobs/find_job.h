// From a typed id to a connection with the job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/control/job_client.h"

namespace ds::launcher {

/// Every running job of this user on this machine. Says on standard error which folders it does not
/// trust.
std::vector<LiveJob> own_jobs();

/// Takes the job whose id begins with `typed` (empty: the only one) out of `jobs`.
/// Errors:  as choose_job.
LiveJob take_job(std::vector<LiveJob>& jobs, std::string_view typed);

/// The job's answer to what was sent last.
/// Errors:  Error{unreachable} when it is refused, or none comes in a few seconds.
ControlMessage answer_of(LiveJob& job);

/// The first 8 digits: enough for people.
std::string short_id(const std::string& id);

}  // namespace ds::launcher
