// What an agent says about the end of a rank -> the status a shell would give, and a cause. Pure.
#pragma once

#include "launcher/job/events.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// 127: not found, 126: found but not executable, as shells have it; 65: the working directory is
/// not there.
RankEnd rank_end(const Exited& exited);

}  // namespace ds::launcher
