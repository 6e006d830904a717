// Placement, identity and facts of the node -> Spec.
#include "launcher/job/spec.h"

namespace ds::launcher {

Spec make_spec(const JobRequest& request, int node, const JobIdentity& identity, const Hello& hello,
               const std::vector<std::string>& own_env) {
  const auto index = static_cast<std::size_t>(node);
  const Node& place = request.placement.nodes[index];
  const NodeFacts facts{
      .cores = hello.cores, .quota_milli = hello.quota_milli, .local = request.routes[index].local};
  Spec spec;
  spec.node_rank = node;
  spec.nodes = static_cast<std::int32_t>(request.placement.nodes.size());
  for (const Program& program : request.programs)
    spec.programs.push_back(
        {.argv = program.argv, .env = program.env, .cwd = program.working_directory});
  spec.env = node_env(request.placement, node, identity, facts, own_env, request.forwarded);
  spec.umask = request.umask;
  spec.grace_ms = static_cast<std::uint32_t>(request.policy.grace.count());
  spec.node_timeout_ms = static_cast<std::uint32_t>(request.policy.node_timeout.count());
  spec.hold_port = node == 0;
  spec.job_cookie = job_id_text(identity.id);
  for (const int rank : place.ranks)
    spec.ranks.push_back(
        {.rank = rank,
         .local_rank = request.placement.ranks[static_cast<std::size_t>(rank)].local_rank,
         .program = request.placement.ranks[static_cast<std::size_t>(rank)].group,
         .env = rank_place_env(request.placement, rank)});
  return spec;
}

}  // namespace ds::launcher
