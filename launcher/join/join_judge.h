// Decides for the root whether a node may fill a place of the job. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_server.h"

namespace ds::launcher {

struct JoinJudgement {
  std::optional<JoinRefused> refusal;  // for the newcomer
  std::optional<JoinRefused> fence;    // for the present node, if a newer one replaces it
  std::string say;                     // message for the root's user; may be empty
};

struct JoinTerms {
  const std::string& job;
  const std::vector<std::string>& places;
  bool present_is_silent = false;  // no recent frame of the present node
};

/// Returns the decision about a hello. `present`: the node that fills the place now, if any. The
/// newer node stays (JoinHello::started). Clocks of nodes differ, so a silent node gives way to any
/// other. A node that has only dialed again (equal uid) replaces itself.
JoinJudgement judge_join(const JoinHello& hello, const std::string& address, const JoinTerms& terms,
                         const std::optional<JoinedNode>& present);

}  // namespace ds::launcher
