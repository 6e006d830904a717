// The end of one rank: the status that a shell would give, and a cause. Pure.
#pragma once

#include <string>

#include "engine/base/exit_status.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct RankEnd {
  ExitStatus status = ExitStatus::lost();
  std::string cause{};  // it never ran: "cannot run ./a.out: Permission denied"
  std::string note{};   // from its node: "out of memory, ..."
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

/// Decodes an agent's report. 127: not found, 126: found but not executable, as in shells; 65:
/// the working directory does not exist.
RankEnd rank_end(const Exited& exited);

/// Returns "exited 7", "killed by SIGKILL: out of memory", "cannot run ./a.out: not found".
std::string describe(const RankEnd& end);

}  // namespace ds::launcher
