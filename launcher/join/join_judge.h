// Who may fill a place of a job: the root's decision about one hello. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_server.h"

namespace ds::launcher {

struct JoinJudgement {
  std::optional<JoinRefused> refusal;  // of the newcomer
  std::optional<JoinRefused> fence;    // of the one who was there, when a newer one takes its place
  std::string say;                     // for people at the root; may be empty
};

struct JoinTerms {
  const std::string& job;
  const std::vector<std::string>& places;
  bool present_is_silent = false;  // who fills the place has not been heard for a while
};

/// `present` fills the place that the newcomer names, if anybody does. Of two the newer one stays
/// (JoinHello::started); clocks of nodes differ, so one that is silent gives way to any; one that
/// has only dialled again (equal uid) replaces itself.
JoinJudgement judge_join(const JoinHello& hello, const std::string& address, const JoinTerms& terms,
                         const std::optional<JoinedNode>& present);

}  // namespace ds::launcher
