// Any bytes as the variables of a Slurm job, NAME=VALUE a line: an allocation that holds together,
// a rank's place, or one Error that may be printed.
#include <cstdint>
#include <map>
#include <string>

#include "engine/base/error.h"
#include "engine/base/slurm_rank.h"
#include "fuzz/check_text.h"
#include "launcher/slurm/allocation.h"
#include "launcher/slurm/node_list.h"

using namespace ds::launcher;

namespace {

using Variables = std::map<std::string, std::string>;

/// Names may leave out "SLURM_".
Variables variables_of(std::string_view text) {
  Variables variables;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables["SLURM_" + std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return variables;
}

void check_allocation(const Variables& variables) {
  const auto allocation =
      find_allocation([&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
      });
  if (!allocation) return;
  DS_ASSERT(!allocation->hosts.empty());
  std::size_t nodes = 0;
  for (const AllocatedGroup& group : allocation->groups) {
    DS_ASSERT(!group.names.empty());
    nodes += group.names.size();
  }
  DS_ASSERT(nodes == allocation->hosts.size(), "every node is in one group");
  for (const Host& host : allocation->hosts) DS_ASSERT(!host.name.empty() && host.slots >= 0);
}

void check_rank(const Variables& variables) {
  const auto place = ds::find_slurm_rank([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  if (!place) return;
  DS_ASSERT(place->rank >= 0 && place->rank < place->world_size);
  DS_ASSERT(place->local_rank < place->local_world_size);
  DS_ASSERT(place->local_world_size <= place->world_size && place->node_rank < place->nodes);
  DS_ASSERT(!place->master_addr.empty() && place->master_port > 1024 && place->master_port < 32768);
}

template <class Check>
void run(Check check) {
  try {
    check();
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config && *error.what() != '\0');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Variables variables = variables_of(text);
  run([&] { check_allocation(variables); });
  run([&] { check_rank(variables); });
  (void)expand_counts(text);
  const auto names = expand_node_list(text);
  if (const auto* problem = std::get_if<RangeProblem>(&names))
    DS_ASSERT(problem->offset <= size && !problem->message.empty());
  else
    DS_ASSERT(std::get<0>(names).size() <= kMaxHosts);
  return 0;
}
