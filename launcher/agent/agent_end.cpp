// Watching the neighbours, and the last moments of an agent.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "launcher/agent/agent_loop.h"

namespace ds::launcher {
namespace {

/// For the last frames, after the end, while the root says nothing. A root that lives but does not
/// read waits for its own reader, and the end of the output is worth that wait.
constexpr std::chrono::seconds kDrainLimit{10};
/// The same when things have gone wrong.
constexpr std::chrono::milliseconds kBadDrainLimit{500};
/// All processes that are hit together are hit within this.
constexpr std::chrono::milliseconds kHitSpan{1200};

}  // namespace

/// Before ranks start there is nothing to protect, and a remote agent sleeps. One on the launcher's
/// machine must not stay behind a launcher that is stopped.
bool AgentLoop::looks() const { return started_ || root_.process().pid() != 0; }

void AgentLoop::look_at_neighbours() {
  if (!looks() || now_ < next_look_) return;
  next_look_ = now_ + StopWatch::kPeriod;
  if (guard_.stopped_twice()) tell(LinkLost{"the guard was stopped"});
  if (namespace_.init_stopped())
    tell(LinkLost{"the first process of the ranks' PID namespace was stopped"});
  for (const auto& rank : ranks_) {
    if (rank->shim_stopped())
      tell(LinkLost{fmt::format("the shim of rank {} was stopped", rank->rank())});
  }
  // When it suspends the job, it stops itself.
  if (root_.stopped_twice() && !state_.suspended()) lose_root("the launcher was stopped");
}

void AgentLoop::drain() {
  Deadline deadline = bad_since_ ? Deadline::after(kBadDrainLimit) : Deadline::after(kDrainLimit);
  channel_.flush();
  while (channel_.anything_waiting() && !deadline.passed()) {
    pollfd ends[] = {{channel_.out(), POLLOUT, 0}, {channel_open_ ? channel_.in() : -1, POLLIN, 0}};
    ::poll(ends, 2, static_cast<int>(deadline.remaining().count()));
    if (ends[1].revents != 0) {
      channel_open_ = channel_.read_some();
      if (channel_open_ && !bad_since_) deadline = Deadline::after(kDrainLimit);
      while (channel_.next()) {
      }
    }
    channel_.flush();
  }
}

/// It would stay behind for ever. When things go wrong, it may be stopped in the moments after
/// us.
void AgentLoop::leave_no_stopped_guard() {
  const Clock::time_point until = bad_since_ ? *bad_since_ + kHitSpan : Clock::now();
  while (!link_.orphaned()) {
    const ProcessRef::State state = guard_.process().state();
    if (state != ProcessRef::State::stopped && Clock::now() >= until) return;
    if (guard_.stopped_twice()) return guard_.process().kill();
    ::usleep(std::chrono::microseconds(StopWatch::kPeriod).count());
  }
}

}  // namespace ds::launcher
