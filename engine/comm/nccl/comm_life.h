// Life of one NCCL communicator: which calls each state allows and which state follows. Pure.
//
//   created -> starting -> ready <-> issuing -> ... -> closing -> closed -> destroyed
//                 any of them -> failed -> aborted
//
// NCCL leaves wrong calls undefined: an operation while one is in progress is refused, a call after
// ncclCommAbort or ncclCommDestroy reads freed memory, ncclCommFinalize after an error hangs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ds::comm {

enum class CommState : std::uint8_t {
  created,   // no communicator yet
  starting,  // ncclCommInitRankConfig is in progress
  ready,
  issuing,  // an operation is being put on its stream
  closing,  // ncclCommFinalize is in progress
  closed,   // only ncclCommDestroy is left
  failed,   // only ncclCommAbort is left
  aborted,  // the communicator is gone
  destroyed
};

enum class CommCall : std::uint8_t { start, issue, look, finalize, destroy, abort };

/// Result of a call, or of polling the communicator.
enum class CommResult : std::uint8_t { done, in_progress, error };

/// Returns the next state; nothing when the state forbids the call.
std::optional<CommState> next_state(CommState state, CommCall call, CommResult result);

inline bool is_allowed(CommState state, CommCall call) {
  return next_state(state, call, CommResult::done).has_value();
}
/// Returns whether a communicator exists that must be given back.
inline bool is_alive(CommState state) {
  return state != CommState::created && state != CommState::aborted &&
         state != CommState::destroyed;
}

/// Returns the name for messages: "starting".
std::string_view name_of(CommState state);

}  // namespace ds::comm
