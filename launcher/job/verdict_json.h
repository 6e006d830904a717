// The verdict as JSON (docs/failure.md). Pure.
#pragma once

#include <string>

#include "launcher/job/verdict_text.h"

namespace ds::launcher {

/// One object, with a newline at its end. Texts of others are cleaned of control bytes, and bytes
/// that are no UTF-8 are replaced.
std::string verdict_json(const JobVerdict& verdict, const RankWords& words,
                         const std::string& job_id);

}  // namespace ds::launcher
