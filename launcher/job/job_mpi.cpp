// The part of Job that serves MPI programs: fences between nodes, and failures of MPI libraries.
#include <utility>

#include "launcher/job/job_facts.h"
#include "launcher/job/job_loop.h"

namespace ds::launcher {

/// Returns whether the message is of an MPI program.
bool Job::take_mpi(int agent, Message& message) {
  const int node = state_.agents().node_of(agent);
  if (auto* in = std::get_if<FenceIn>(&message)) {
    mpi_.take(node, std::move(*in), Clock::now());
  } else if (const auto* waits = std::get_if<FenceWaits>(&message)) {
    mpi_.take(node, *waits, Clock::now());
  } else if (const auto* failed = std::get_if<MpiFailed>(&message)) {
    if (is_rank_of(state_.placement(), node, failed->rank))
      feed(MpiRankFailed{failed->rank, failed->code, redactor_.clean(failed->text),
                         exit_time(agent, failed->time)});
    return true;
  } else {
    return false;
  }
  pass_fences();
  arm_timer();
  return true;
}

void Job::pass_fences() {
  while (const auto next = mpi_.next_release())
    links_.send(state_.agents().agent_of(next->node), next->message);
  if (auto problem = mpi_.take_problem())
    feed(FenceFailed{std::move(problem->ranks), problem->waited});
}

void Job::begin_fences() {
  std::vector<std::vector<int>> ranks;
  for (const Node& node : state_.placement().nodes) ranks.push_back(node.ranks);
  mpi_.begin(std::move(ranks));
}

void Job::look_at_fences() {
  if (state_.fleet().suspended()) return;
  mpi_.tick(Clock::now());
  pass_fences();
  arm_timer();
}

}  // namespace ds::launcher
