// Judges what the node of a host that may join has found out about itself. Pure.
#pragma once

#include <string>
#include <string_view>

#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns one line, "MESSAGE; HINT", from what dsrunner printed; empty: it printed no error.
std::string check_problem(std::string_view text);

/// Returns why the host cannot take part; empty: it can. `job_facts`: what rank 0 has told, as
/// engine/base/training_facts.h; empty: nothing yet, or the job is not a training.
std::string host_problem(const Checked& checked, std::string_view job_facts);

}  // namespace ds::launcher
