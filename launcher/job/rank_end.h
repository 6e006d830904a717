// How one rank ended: the status a shell would give, and a cause. Pure.
#pragma once

#include <string>

#include "engine/base/exit_status.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct RankEnd {
  ExitStatus status = ExitStatus::lost();
  std::string cause{};  // it never ran: "cannot run ./a.out: Permission denied"
  std::string note{};   // what its node knows of the end: "out of memory, ..."
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

/// From what an agent says. 127: not found, 126: found but not executable, as shells have it; 65:
/// the working directory is not there.
RankEnd rank_end(const Exited& exited);

/// "exited 7", "killed by SIGKILL: out of memory", "cannot run ./a.out: not found".
std::string describe(const RankEnd& end);

}  // namespace ds::launcher
