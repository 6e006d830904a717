// Placement, identity and facts of the node -> Spec.
#include "launcher/job/spec.h"

#include <string>

#include "runner/contract.h"

namespace ds::launcher {

Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const NodeContact& contact,
               const std::vector<std::string>& own_env) {
  const Node& place = placement.nodes[static_cast<std::size_t>(node)];
  const NodeFacts facts{.cores = contact.hello.cores,
                        .quota_milli = contact.hello.quota_milli,
                        .local = contact.local};
  Spec spec;
  spec.node_rank = node;
  spec.nodes = static_cast<std::int32_t>(placement.nodes.size());
  for (const Program& program : request.programs)
    spec.programs.push_back(
        {.argv = program.argv, .env = program.env, .cwd = program.working_directory});
  spec.env = node_env(placement, node, identity, facts, own_env, request.forwarded);
  spec.env.emplace_back(contract::kRestartCount, std::to_string(placement.epoch));
  spec.env.emplace_back(contract::kMaxRestarts, std::to_string(request.policy.max_restarts));
  spec.umask = request.umask;
  spec.limits = request.limits;
  spec.grace_ms = static_cast<std::uint32_t>(request.policy.grace.count());
  spec.node_timeout_ms = static_cast<std::uint32_t>(request.policy.node_timeout.count());
  spec.hold_port = node == 0;
  spec.job_cookie = job_id_text(identity.id);
  spec.keep_agent = request.policy.max_restarts > 0;
  for (const int rank : place.ranks)
    spec.ranks.push_back({.rank = rank,
                          .local_rank = placement.ranks[static_cast<std::size_t>(rank)].local_rank,
                          .program = placement.ranks[static_cast<std::size_t>(rank)].group,
                          .env = rank_place_env(placement, rank)});
  return spec;
}

}  // namespace ds::launcher
