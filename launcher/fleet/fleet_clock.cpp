// The part of Fleet that depends on time: heartbeats, silence, deadlines, suspension.
#include <algorithm>

#include "launcher/fleet/fleet.h"

namespace ds::launcher {

using namespace std::chrono_literals;
using What = Fleet::News::What;

std::chrono::milliseconds Fleet::beat_period() const {
  const std::chrono::milliseconds longest = running_ > 0 ? kHeartbeat : kIdleHeartbeat;
  // Several heartbeats fit in a short timeout: one late heartbeat must not lose a node.
  if (policy_.node_timeout <= 0ms) return longest;
  return std::clamp<std::chrono::milliseconds>(policy_.node_timeout / 4, 10ms, longest);
}

/// Returns how long the agent may be silent; max: no message is expected from it.
std::chrono::milliseconds Fleet::silence_limit(const Record& record) const {
  const bool waits = record.stage == Stage::sweeping || record.stage == Stage::idle;
  const bool busy = record.stage >= Stage::preparing && record.stage <= Stage::running;
  if (policy_.node_timeout <= 0ms || (!waits && !busy)) return std::chrono::milliseconds::max();
  return waits ? std::max(policy_.node_timeout, kIdleTimeout) : policy_.node_timeout;
}

Clock::time_point Fleet::effective_due(const Record& record) const {
  if (record.due == Due::nothing) return Clock::time_point::max();
  if (held_at_ && record.due == Due::kill) return std::max(record.due_at, *held_at_ + kKillMargin);
  if (held_at_ && record.due == Due::give_up)
    return std::max(record.due_at, *held_at_ + kGiveUpAfterKill);
  return record.due_at;
}

/// Returns when something must be done about the agent unless it is heard before.
Clock::time_point Fleet::overdue_at(const Record& record) const {
  const Clock::time_point due = effective_due(record);
  const std::chrono::milliseconds limit = silence_limit(record);
  if (limit == std::chrono::milliseconds::max()) return due;
  return std::min(due, std::max(record.last_heard, heard_floor_) + limit);
}

/// Queues the agent so that it is checked in time.
void Fleet::queue(int agent) {
  Record& record = this->record(agent);
  const Clock::time_point at = overdue_at(record);
  if (at >= record.queued_at) return;
  record.queued_at = at;
  queue_.push({at, agent});
}

Clock::time_point Fleet::wake_at() const {
  if (suspended()) return Clock::time_point::max();
  Clock::time_point at = next_beat_;
  if (!queue_.empty()) at = std::min(at, queue_.top().at);
  if (const auto by = start_by()) at = std::min(at, *by);
  return at;
}

/// Returns how late this Tick is, if so late that the launcher itself must have been stopped.
std::optional<Clock::duration> Fleet::own_stall() const {
  const bool has_timeout = policy_.node_timeout > 0ms;
  const std::chrono::milliseconds least =
      has_timeout ? std::clamp(policy_.node_timeout / 4, kLeastStall, kOwnStall) : kOwnStall;
  const Clock::duration late = now_ - wake_at();
  if (late <= least) return std::nullopt;
  return late;
}

void Fleet::on(const Tick&) {
  if (suspended()) return;
  if (const auto stall = own_stall()) skip(*stall, now_ + kAfterStall);
  const bool beats = now_ >= next_beat_;
  if (beats) {
    next_beat_ = now_ + beat_period();
    act(SendHeartbeats{});
  }
  // A heartbeat also handles agents due before the next one: few need a Tick of their own.
  look_at_due(beats ? next_beat_ : now_);
  if (const auto by = start_by(); by && now_ >= *by) drop_unready();
}

/// Performs what is overdue, and queues the other agents anew by when they were last heard.
void Fleet::look_at_due(Clock::time_point until) {
  std::vector<int> later;
  while (!queue_.empty() && queue_.top().at <= until) {
    const Entry entry = queue_.top();
    queue_.pop();
    Record& record = this->record(entry.agent);
    if (entry.at != record.queued_at) continue;  // outdated
    record.queued_at = Clock::time_point::max();
    if (overdue_at(record) <= now_)
      perform_due(entry.agent);
    else
      later.push_back(entry.agent);
  }
  for (const int agent : later) queue(agent);
}

void Fleet::perform_due(int agent) {
  Record& record = this->record(agent);
  if (effective_due(record) > now_)
    return end(agent, {.what = What::silent, .span = silence_limit(record)});
  switch (std::exchange(record.due, Due::nothing)) {
    case Due::nothing:
      return;
    case Due::swept:
      return end(agent, {.what = What::not_swept});
    case Due::time_up:
      queue(agent);
      return tell({.what = What::time_up, .agent = agent, .was = record.stage});
    case Due::kill:
      return kill(agent);
    case Due::give_up:
      return end(agent, {.what = What::unanswered});
    case Due::leave:
      return end(agent, {.what = What::left});
  }
}

/// Drops agents that are not ready: no agent has made progress for the start timeout.
void Fleet::drop_unready() {
  for (int agent = 0; agent < size(); ++agent) {
    const Record& record = this->record(agent);
    const bool greeted = record.stage == Stage::preparing;
    if (greeted || (record.stage == Stage::opening && !record.again))
      end(agent,
          {.what = greeted ? What::not_ready : What::no_greeting, .span = policy_.start_timeout});
  }
}

std::optional<Clock::duration> Fleet::resume() {
  if (!suspended()) return std::nullopt;
  const Clock::duration pause = now_ - *std::exchange(suspended_at_, std::nullopt);
  skip(pause, now_);
  next_beat_ = now_ + beat_period();
  act(ResumeAgents{});
  return pause;
}

/// Excludes the time in which the launcher was stopped from all deadlines: agents may have met
/// theirs without being heard. Nothing is due before `earliest`.
void Fleet::skip(Clock::duration pause, Clock::time_point earliest) {
  progressed_at_ = std::max(progressed_at_ + pause, earliest - policy_.start_timeout);
  heard_floor_ = now_;
  queue_ = {};
  for (int agent = 0; agent < size(); ++agent) {
    Record& record = this->record(agent);
    record.due_at = std::max(record.due_at + pause, earliest);
    record.queued_at = Clock::time_point::max();
    queue(agent);
  }
}

}  // namespace ds::launcher
