#include "launcher/pmix/job_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

std::uint32_t to_u32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

void add_maps(InfoList& info, const MpiSpec& mpi) {
  std::string nodes, ranks;
  for (const MpiNode& node : mpi.nodes) {
    nodes += (nodes.empty() ? "" : ",") + node.name;
    if (&node != &mpi.nodes.front()) ranks += ';';
    ranks += rank_list(node.ranks);
  }
  char* regex = nullptr;
  char* ppn = nullptr;
  if (PMIx_generate_regex(nodes.c_str(), &regex) != PMIX_SUCCESS ||
      PMIx_generate_ppn(ranks.c_str(), &ppn) != PMIX_SUCCESS)
    throw Error(ErrorKind::system, "PMIx cannot express the map of nodes and ranks");
  info.add_regex(PMIX_NODE_MAP, regex);
  info.add_regex(PMIX_PROC_MAP, ppn);
  std::free(regex);
  std::free(ppn);
  info.add(PMIX_NODE_LIST, nodes);
}

void add_nodes(InfoList& info, const MpiSpec& mpi) {
  for (std::size_t i = 0; i < mpi.nodes.size(); ++i) {
    const MpiNode& node = mpi.nodes[i];
    InfoList of_node;
    of_node.add(PMIX_HOSTNAME, node.name);
    of_node.add(PMIX_NODEID, to_u32(static_cast<std::int64_t>(i)));
    of_node.add(PMIX_LOCAL_SIZE, to_u32(std::ssize(node.ranks)));
    of_node.add(PMIX_NODE_SIZE, to_u32(std::ssize(node.ranks)));
    of_node.add(PMIX_LOCAL_PEERS, rank_list(node.ranks));
    if (!node.ranks.empty()) of_node.add_rank(PMIX_LOCALLDR, to_u32(node.ranks.front()));
    info.add_array(PMIX_NODE_INFO_ARRAY, std::move(of_node));
  }
}

void add_apps(InfoList& info, const Spec& spec) {
  for (std::size_t i = 0; i < spec.mpi.apps.size(); ++i) {
    const MpiApp& app = spec.mpi.apps[i];
    InfoList of_app;
    of_app.add(PMIX_APPNUM, to_u32(static_cast<std::int64_t>(i)));
    of_app.add(PMIX_APP_SIZE, to_u32(app.size));
    of_app.add_rank(PMIX_APPLDR, to_u32(app.first_rank));
    if (i < spec.programs.size()) {
      of_app.add(PMIX_APP_ARGV, fmt::format("{}", fmt::join(spec.programs[i].argv, " ")));
      of_app.add(PMIX_WDIR, spec.programs[i].cwd);
    }
    info.add_array(PMIX_APP_INFO_ARRAY, std::move(of_app));
  }
}

/// Returns the parts of this node that processors belong to, as Open MPI compares them
/// ("SK0:L30:CR1:HT1"); empty if the library cannot tell.
std::string locality_of(const std::string& cpuset) {
  pmix_topology_t topology{};
  if (PMIx_Load_topology(&topology) != PMIX_SUCCESS || topology.topology == nullptr) return {};
  std::free(topology.source);            // The topology itself is the library's own.
  std::string text = "hwloc:" + cpuset;  // The library writes into it.
  pmix_cpuset_t set{};
  if (PMIx_Parse_cpuset_string(text.data(), &set) != PMIX_SUCCESS) return {};
  char* locality = nullptr;
  const pmix_status_t status = PMIx_server_generate_locality_string(&set, &locality);
  std::string found = status == PMIX_SUCCESS && locality != nullptr ? locality : "";
  std::free(locality);
  return found;
}

/// Tells what a rank of this node is bound to, in PRRTE's form: a list of processors without the
/// prefix "hwloc:", because Open MPI reads it by hwloc_bitmap_list_sscanf().
void add_binding(InfoList& info, const std::string& cpuset) {
  info.add(PMIX_CPUSET, cpuset);
  const std::string locality = locality_of(cpuset);
  if (!locality.empty()) info.add(PMIX_LOCALITY_STRING, locality);
}

void add_ranks(InfoList& info, const MpiSpec& mpi, std::size_t own_node) {
  const auto app_of = [&](std::int32_t rank) {
    std::size_t app = 0;
    while (app + 1 < mpi.apps.size() && mpi.apps[app + 1].first_rank <= rank) ++app;
    return app;
  };
  for (std::size_t i = 0; i < mpi.nodes.size(); ++i) {
    const MpiNode& node = mpi.nodes[i];
    for (std::size_t local = 0; local < node.ranks.size(); ++local) {
      const std::int32_t rank = node.ranks[local];
      const std::size_t app = app_of(rank);
      const std::int32_t first = app < mpi.apps.size() ? mpi.apps[app].first_rank : 0;
      InfoList of_rank;
      of_rank.add_rank(PMIX_RANK, to_u32(rank));
      of_rank.add(PMIX_APPNUM, to_u32(static_cast<std::int64_t>(app)));
      of_rank.add_rank(PMIX_APP_RANK, to_u32(rank - first));
      of_rank.add_rank(PMIX_GLOBAL_RANK, to_u32(rank));
      of_rank.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local));
      of_rank.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(local));
      of_rank.add(PMIX_NODEID, to_u32(static_cast<std::int64_t>(i)));
      of_rank.add(PMIX_HOSTNAME, node.name);
      of_rank.add(PMIX_REINCARNATION, std::uint32_t{0});
      if (i == own_node && local < mpi.cpusets.size() && !mpi.cpusets[local].empty())
        add_binding(of_rank, mpi.cpusets[local]);
      info.add_array(PMIX_PROC_INFO_ARRAY, std::move(of_rank));
    }
  }
}

}  // namespace

std::string rank_list(const std::vector<std::int32_t>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ","));
}

InfoList job_info(const Spec& spec, const std::string& folder) {
  const MpiSpec& mpi = spec.mpi;
  const MpiNode& own = mpi.nodes.at(static_cast<std::size_t>(spec.node_rank));
  const std::uint32_t size = to_u32(mpi.size);
  InfoList info;
  info.add(PMIX_JOBID, mpi.space);
  info.add(PMIX_UNIV_SIZE, size);
  info.add(PMIX_JOB_SIZE, size);
  info.add(PMIX_MAX_PROCS, size);
  info.add(PMIX_NUM_SLOTS, size);
  info.add(PMIX_JOB_NUM_APPS, to_u32(std::ssize(mpi.apps)));
  info.add(PMIX_NUM_NODES, to_u32(std::ssize(mpi.nodes)));
  info.add(PMIX_SPAWNED, false);
  add_maps(info, mpi);
  info.add(PMIX_LOCAL_SIZE, to_u32(std::ssize(own.ranks)));
  info.add(PMIX_NODE_SIZE, to_u32(std::ssize(own.ranks)));
  info.add(PMIX_LOCAL_PEERS, rank_list(own.ranks));
  if (!own.ranks.empty()) info.add_rank(PMIX_LOCALLDR, to_u32(own.ranks.front()));
  info.add(PMIX_NODEID, to_u32(spec.node_rank));
  info.add(PMIX_TMPDIR, folder);
  info.add(PMIX_NSDIR, folder);
  info.add(PMIX_TDIR_RMCLEAN, true);
  add_nodes(info, mpi);
  add_apps(info, spec);
  add_ranks(info, mpi, static_cast<std::size_t>(spec.node_rank));
  return info;
}

}  // namespace ds::launcher
