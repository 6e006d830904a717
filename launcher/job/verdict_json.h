// The verdict as JSON (docs/failure.md). Pure.
#pragma once

#include <string>

#include "launcher/job/verdict_text.h"

namespace ds::launcher {

/// Returns one object, with a newline at its end. Text from ranks and nodes is cleaned of control
/// bytes, and bytes that are not UTF-8 are replaced.
std::string verdict_json(const JobVerdict& verdict, const RankWords& words,
                         const std::string& job_id);

}  // namespace ds::launcher
