// The part of JobState that handles ends of ranks and finds the first failure.
#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {
namespace {

/// The longest time that the last message of a node may have been in transit.
constexpr std::chrono::seconds kUnderWay{1};

}  // namespace

void JobState::handle(const RankExited& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  if (!begun_ || ranks_[static_cast<std::size_t>(event.rank)].ended) return;
  rank_ended(event.rank, event.end);
  const bool failed = !event.end.status.success();
  if (phase_ == Phase::running && failed) {
    mark_failure(cause_of(event));
  } else if (failed && came_first(event)) {
    earlier_ = cause_of(event);
  } else if (phase_ == Phase::running && ranks_left_ > 0 && policy_.exit_skew.after.count() > 0) {
    skew_at_ = now_ + policy_.exit_skew.after;
  }
}

Cause JobState::cause_of(const RankExited& event) const {
  return {.kind = Cause::Kind::rank,
          .rank = event.rank,
          .node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank,
          .end = event.end,
          .time = event.time};
}

/// Returns whether this exit, reported later, certainly preceded the known failure, which may be
/// its consequence. Exits by our own TERM are always later.
bool JobState::came_first(const RankExited& event) const {
  const bool acting = phase_ == Phase::clearing || phase_ == Phase::stopping;
  const bool node_lost = cause_.kind == Cause::Kind::node;
  if (!acting || (cause_.kind != Cause::Kind::rank && !node_lost)) return false;
  // The node lived when it sent its last message, at most kUnderWay before that arrived.
  if (node_lost)
    return event.time.here && cause_.time.here &&
           *event.time.here + event.time.error < *cause_.time.here - kUnderWay;
  const ExitTime& known = cause_.time;
  const int node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank;
  if (node == cause_.node) return event.time.there != 0 && event.time.there < known.there;
  return event.time.here && known.here &&
         *event.time.here + event.time.error < *known.here - known.error;
}

/// An earlier failure was reported late. It becomes the cause; the stop goes on, unless the new
/// cause forbids a restart.
void JobState::take_earlier(Cause cause) {
  if (cause_.kind == Cause::Kind::rank) {
    ranks_[static_cast<std::size_t>(cause_.rank)].after_cause = true;
  } else {
    for (const int rank : placement_.nodes[static_cast<std::size_t>(cause_.node)].ranks)
      ranks_[static_cast<std::size_t>(rank)].after_cause |=
          ranks_[static_cast<std::size_t>(rank)].end.status.is_lost();
  }
  ranks_[static_cast<std::size_t>(cause.rank)].after_cause = false;
  if (phase_ == Phase::stopping) {
    cause.note = cause_.note;
    cause_ = std::move(cause);
    return;
  }
  const std::string text = printable(cause_text(placement_, cause));
  act(Say{text + "; this came first"});
  verdict_.restarts.pop_back();
  if (std::optional<std::string> why = why_no_restart(cause)) {
    cause.note = std::move(*why);
    return stop(std::move(cause));
  }
  verdict_.restarts.push_back({.why = text});
  cause_ = std::move(cause);
}

void JobState::rank_ended(int rank, const RankEnd& end) {
  RankRecord& record = ranks_[static_cast<std::size_t>(rank)];
  if (record.ended) return;
  record.ended = true;
  record.end = end;
  const bool stopping = phase_ == Phase::stopping || phase_ == Phase::clearing;
  record.after_cause = begun_ && (stopping || cause_.kind != Cause::Kind::none);
  --ranks_left_;
  --node(placement_.ranks[static_cast<std::size_t>(rank)].node_rank).ranks_left;
  if (ranks_left_ == 0) skew_at_.reset();
}

}  // namespace ds::launcher
