// The part of Job that serves MPI programs: fences between nodes, and failures of MPI libraries.
#include <fmt/format.h>

#include <string>
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
  } else if (const auto* ask = std::get_if<ModexAsk>(&message)) {
    pass_modex(modex_.take(node, *ask));
  } else if (auto* answer = std::get_if<ModexAnswer>(&message)) {
    pass_modex(modex_.take(node, std::move(*answer)));
  } else if (auto* names = std::get_if<NameAsk>(&message)) {
    pass_names(names_.take(node, std::move(*names)));
  } else if (const auto* init = std::get_if<MpiInit>(&message)) {
    if (is_rank_of(state_.placement(), node, init->rank)) take_init(*init);
  } else if (std::holds_alternative<PmixNotice>(message)) {
    std::vector<int> others;
    for (const Node& each : state_.placement().nodes)
      if (each.node_rank != node) others.push_back(each.node_rank);
    if (!others.empty()) send_to_nodes(others, message);
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

/// Ends a job with two kinds of MPI library: each would wait in MPI_Init for all ranks.
void Job::take_init(const MpiInit& init) {
  const std::optional<int> other = kinds_.take(init);
  if (!other) return;
  const Placement& placement = state_.placement();
  const int node = placement.ranks[static_cast<std::size_t>(*other)].node_rank;
  const Host& host = placement.nodes[static_cast<std::size_t>(node)].host;
  const bool is_pmix = init.wire == MpiWire::pmix;
  constexpr const char* kPmi = "PMI (MPICH, MVAPICH, Intel MPI)";
  constexpr const char* kPmix = "PMIx (Open MPI)";
  std::string text = fmt::format("uses {}, but rank {} on {} uses {}: ", is_pmix ? kPmix : kPmi,
                                 *other, host.name, is_pmix ? kPmi : kPmix);
  text += "all ranks of a job need the same MPI library";
  feed(MpiRankFailed{init.rank, 1, std::move(text), {.here = Clock::now()}});
}

void Job::send_to_nodes(const std::vector<int>& nodes, const Message& message) {
  std::vector<int> agents;
  for (const int node : nodes)
    if (node >= 0 && node < std::ssize(state_.placement().nodes))
      agents.push_back(state_.agents().agent_of(node));
  links_.send(agents, message);
}

void Job::pass_modex(const std::vector<ModexRelay::Out>& messages) {
  for (const ModexRelay::Out& each : messages) send_to_nodes({each.node}, each.message);
}

void Job::pass_names(const std::vector<PublishedNames::Out>& messages) {
  for (const PublishedNames::Out& each : messages) send_to_nodes({each.node}, each.message);
}

/// All ranks of the agent's node have ended.
void Job::mpi_node_ended(int agent) {
  const int node = state_.agents().node_of(agent);
  pass_modex(modex_.ended(node));
  names_.ended(node);
}

void Job::pass_fences() {
  while (const auto next = mpi_.next_release()) send_to_nodes(next->nodes, next->message);
  if (auto problem = mpi_.take_problem())
    feed(FenceFailed{std::move(problem->ranks), problem->waited});
}

void Job::begin_fences() {
  std::vector<std::vector<int>> ranks;
  for (const Node& node : state_.placement().nodes) ranks.push_back(node.ranks);
  modex_.begin(ranks);
  names_ = PublishedNames();
  kinds_.begin();
  mpi_.begin(std::move(ranks));
}

void Job::look_at_fences() {
  if (state_.fleet().suspended()) return;
  mpi_.tick(Clock::now());
  pass_fences();
  arm_timer();
}

}  // namespace ds::launcher
