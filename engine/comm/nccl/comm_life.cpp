// Life of an NCCL communicator: the table of states and calls.
#include "engine/comm/nccl/comm_life.h"

namespace ds::comm {
namespace {

CommState after(CommResult result, CommState done, CommState in_progress) {
  if (result == CommResult::error) return CommState::failed;
  return result == CommResult::done ? done : in_progress;
}

std::optional<CommState> after_look(CommState state, CommResult result) {
  switch (state) {
    case CommState::starting:
      return after(result, CommState::ready, CommState::starting);
    case CommState::ready:
      return after(result, CommState::ready, CommState::ready);
    case CommState::issuing:
      return after(result, CommState::ready, CommState::issuing);
    case CommState::closing:
      return after(result, CommState::closed, CommState::closing);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<CommState> next_state(CommState state, CommCall call, CommResult result) {
  switch (call) {
    case CommCall::start:
      if (state != CommState::created) return std::nullopt;
      return after(result, CommState::ready, CommState::starting);
    case CommCall::issue:
      if (state != CommState::ready) return std::nullopt;
      return after(result, CommState::ready, CommState::issuing);
    case CommCall::look:
      return after_look(state, result);
    case CommCall::finalize:
      if (state != CommState::ready) return std::nullopt;
      return after(result, CommState::closed, CommState::closing);
    case CommCall::destroy:
      if (state != CommState::closed) return std::nullopt;
      return CommState::destroyed;
    case CommCall::abort:
      if (!is_alive(state)) return std::nullopt;
      return CommState::aborted;
  }
  return std::nullopt;
}

std::string_view name_of(CommState state) {
  switch (state) {
    case CommState::created:
      return "created";
    case CommState::starting:
      return "starting";
    case CommState::ready:
      return "ready";
    case CommState::issuing:
      return "issuing";
    case CommState::closing:
      return "closing";
    case CommState::closed:
      return "closed";
    case CommState::failed:
      return "failed";
    case CommState::aborted:
      return "aborted";
    case CommState::destroyed:
      return "destroyed";
  }
  return "?";
}

}  // namespace ds::comm
