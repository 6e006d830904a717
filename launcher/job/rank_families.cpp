// Sets the variables by which Open MPI, MPICH and Horovod give a rank its place.
#include "launcher/job/rank_families.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace ds::launcher {

EnvList family_env(const Placement& placement, int rank, const RankFamilies& families) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  const Node& node = placement.nodes[static_cast<std::size_t>(place.node_rank)];
  const std::string own = std::to_string(placement.shown_rank(rank));
  const std::string world = std::to_string(placement.shown_world());
  const std::string local = std::to_string(place.local_rank);
  const std::string locals = std::to_string(node.ranks.size());
  EnvList env;
  const auto add = [&](EnvList more) { env.insert(env.end(), more.begin(), more.end()); };
  if (families.openmpi)
    add({{"OMPI_COMM_WORLD_RANK", own},
         {"OMPI_COMM_WORLD_SIZE", world},
         {"OMPI_COMM_WORLD_LOCAL_RANK", local},
         {"OMPI_COMM_WORLD_LOCAL_SIZE", locals},
         {"OMPI_COMM_WORLD_NODE_RANK", local},
         {"OMPI_UNIVERSE_SIZE", world}});
  if (families.mpich)
    add({{"PMI_RANK", own},
         {"PMI_SIZE", world},
         {"MPI_LOCALRANKID", local},
         {"MPI_LOCALNRANKS", locals},
         {"PALS_LOCAL_RANKID", local},
         {"MV2_COMM_WORLD_RANK", own},
         {"MV2_COMM_WORLD_SIZE", world},
         {"MV2_COMM_WORLD_LOCAL_RANK", local},
         {"MV2_COMM_WORLD_LOCAL_SIZE", locals}});
  if (!families.horovod) return env;
  // Among the ranks of the same local rank: nodes that have fewer ranks do not count.
  const auto has_local = [&](const Node& other) {
    return other.ranks.size() > static_cast<std::size_t>(place.local_rank);
  };
  const auto begin = placement.nodes.begin();
  // Nodes of other parts are like this one.
  const auto others =
      static_cast<std::ptrdiff_t>(placement.shown_nodes()) - std::ssize(placement.nodes);
  add({{"HOROVOD_RANK", own},
       {"HOROVOD_SIZE", world},
       {"HOROVOD_LOCAL_RANK", local},
       {"HOROVOD_LOCAL_SIZE", locals},
       {"HOROVOD_CROSS_RANK",
        std::to_string(placement.shown_node(0) +
                       std::count_if(begin, begin + place.node_rank, has_local))},
       {"HOROVOD_CROSS_SIZE",
        std::to_string(others + std::count_if(begin, placement.nodes.end(), has_local))},
       {"HOROVOD_HOSTNAME", node.host.name}});
  return env;
}

}  // namespace ds::launcher
