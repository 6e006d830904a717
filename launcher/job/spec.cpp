// Builds a Spec from placement, identity and facts of the node.
#include "launcher/job/spec.h"

#include <string>

#include "engine/base/contract.h"
#include "launcher/job/device_env.h"
#include "launcher/job/master_search.h"

namespace ds::launcher {

std::string device_of_rank(const JobRequest& request, const Placement& placement, int rank,
                           const Hello& hello) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  EnvList given = request.environment.given;
  const EnvList& own = request.programs[static_cast<std::size_t>(place.group)].env;
  given.insert(given.end(), own.begin(), own.end());
  const Host& host = placement.nodes[static_cast<std::size_t>(place.node_rank)].host;
  return device_of_rank(host, place.local_rank, request.own_devices, given, hello);
}

Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const NodeContact& contact) {
  const Node& place = placement.nodes[static_cast<std::size_t>(node)];
  const NodeFacts facts{.cores = contact.hello.cores,
                        .quota_milli = contact.hello.quota_milli,
                        .local = contact.local,
                        .interface = request.master.iface ? interface_of(*request.master.iface,
                                                                         contact.hello.addresses)
                                                          : std::string()};
  Spec spec;
  spec.node_rank = node;
  spec.nodes = static_cast<std::int32_t>(placement.nodes.size());
  for (const Program& program : request.programs)
    spec.programs.push_back(
        {.argv = program.argv, .env = program.env, .cwd = program.working_directory});
  spec.env = device_env(place.host, contact.hello);
  const EnvList others = node_env(placement, node, identity, facts, request.environment);
  spec.inherit_env = !(contact.local && request.environment.here);
  spec.env.insert(spec.env.end(), others.begin(), others.end());
  spec.env.emplace_back(contract::kRestartCount,
                        std::to_string(placement.epoch - placement.first_epoch));
  spec.env.emplace_back(contract::kMaxRestarts, std::to_string(request.policy.max_restarts));
  spec.umask = request.umask;
  spec.isolate = request.isolate;
  spec.bind = request.bind;
  spec.tell_binding = request.tell_binding;
  spec.limits = request.limits;
  spec.grace_ms = static_cast<std::uint32_t>(request.policy.grace.count());
  spec.node_timeout_ms = static_cast<std::uint32_t>(request.policy.node_timeout.count());
  // If the user gives both, rank 0 listens elsewhere.
  spec.hold_port = node == 0 && (request.master.address.empty() || request.master.port == 0);
  spec.port = request.master.port;
  spec.job_cookie = job_id_text(identity.id);
  spec.keep_agent = request.policy.max_restarts > 0;
  for (const int number : place.ranks) {
    const RankPlace& rank = placement.ranks[static_cast<std::size_t>(number)];
    RankSpec& rank_spec = spec.ranks.emplace_back();
    rank_spec.rank = number;
    rank_spec.local_rank = rank.local_rank;
    rank_spec.program = rank.group;
    rank_spec.env = rank_place_env(placement, number);
    const EnvList families = family_env(placement, number, request.environment.families);
    rank_spec.env.insert(rank_spec.env.end(), families.begin(), families.end());
    if (request.bind != Bind::none)
      rank_spec.device = device_of_rank(request, placement, number, contact.hello);
    if (!request.own_devices) continue;
    const EnvList device = own_device_env(place.host, rank.local_rank, contact.hello);
    rank_spec.env.insert(rank_spec.env.end(), device.begin(), device.end());
  }
  return spec;
}

}  // namespace ds::launcher
