// Shows the ranks to parallel debuggers, and holds them at their start for a debugger that has
// started this process.
#include <utility>

#include "launcher/fleet/suspend.h"
#include "launcher/job/job_loop.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

/// Called before the ranks of an epoch start.
void Job::begin_debugging() {
  debugger_.clear();
  ranks_shown_ = false;
  holds_ranks_ = MpirView::being_debugged();
}

void Job::show_ranks() {
  std::vector<std::string> executables;
  for (const Program& program : request_.programs)
    executables.push_back(mpir_executable(program.argv.front(), program.working_directory));
  debugger_.show(mpir_table(state_.placement(), std::move(executables), state_.pids()));
  if (!holds_ranks_) return MpirView::announce();
  // Agents must not take the silence of a process that a debugger has stopped for its loss. So the
  // job is suspended first, as by Ctrl-Z, and goes on when the debugger lets this process go on.
  ranks_shown_ = true;
  feed(RanksHeld{});
}

/// Stops this process while the job is suspended.
void Job::stop_self() {
  if (std::exchange(ranks_shown_, false)) return MpirView::announce();
  suspend_this_process(stop_asked_);
}

void Job::tell_debugger(const Cause& cause) {
  if (cause.kind != Cause::Kind::none) debugger_.abort(cause_text(state_.placement(), cause));
}

}  // namespace ds::launcher
