#include "launcher/fleet/stop_signals.h"

#include <csignal>

namespace ds::launcher {

using namespace std::chrono_literals;

bool StopSignals::counts(int signo, Clock::time_point now, bool asked) {
  const bool typed = signo == SIGINT;
  std::optional<Clock::time_point>& last = typed ? interrupted_at_ : terminated_at_;
  const Clock::duration same = typed ? Clock::duration(kSameKey) : Clock::duration(2s);
  if (!asked && last && now < *last + same) return false;
  last = now;
  ++count_;
  return true;
}

}  // namespace ds::launcher
