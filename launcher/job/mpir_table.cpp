#include "launcher/job/mpir_table.h"

#include <filesystem>
#include <utility>

namespace ds::launcher {

MpirTable mpir_table(const Placement& placement, std::vector<std::string> executables,
                     const std::vector<int>& pids) {
  MpirTable table;
  table.executables = std::move(executables);
  for (const Node& node : placement.nodes) table.hosts.push_back(node.host.name);
  for (const RankPlace& place : placement.ranks)
    table.ranks.push_back(
        {.host_name = table.hosts[static_cast<std::size_t>(place.node_rank)].data(),
         .executable_name = table.executables[static_cast<std::size_t>(place.group)].data(),
         .pid = pids[static_cast<std::size_t>(place.rank)]});
  return table;
}

std::string mpir_executable(const std::string& program, const std::string& folder) {
  if (program.find('/') == std::string::npos) return program;
  return (std::filesystem::path(folder) / program).lexically_normal().string();
}

void MpirView::clear() {
  MPIR_debug_state = kMpirNull;
  MPIR_proctable_size = 0;
  MPIR_proctable = nullptr;
  MPIR_debug_abort_string = nullptr;
  table_ = {};
}

void MpirView::show(MpirTable table) {
  clear();
  table_ = std::move(table);
  MPIR_proctable = table_.ranks.data();
  MPIR_proctable_size = static_cast<int>(table_.ranks.size());
  // A debugger that attaches later reads the table if it finds this state.
  MPIR_debug_state = kMpirSpawned;
}

void MpirView::abort(std::string reason) {
  reason_ = std::move(reason);
  MPIR_debug_abort_string = reason_.data();
  MPIR_debug_state = kMpirAborting;
  announce();
}

}  // namespace ds::launcher
