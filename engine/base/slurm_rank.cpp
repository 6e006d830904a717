// Place of a rank in an srun step, from SLURM_PROCID and related variables.
#include "engine/base/slurm_rank.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::uint64_t kFirstSpecialStep = 0xfffffff0;  // batch, interactive, extern
constexpr std::uint64_t kMostTasks = 1'000'000;
// On Linux none of the 16384 ports from here on is ephemeral.
constexpr std::uint64_t kFirstPort = 16384;
constexpr std::uint64_t kPorts = 16384;

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> text(const SlurmLookup& lookup, const char* name) {
  const char* value = lookup(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

int number(const SlurmLookup& lookup, const char* name, std::uint64_t low, std::uint64_t high) {
  const std::optional<std::string> value = text(lookup, name);
  if (!value)
    throw Error(ErrorKind::config, fmt::format("{} is not set, but SLURM_STEP_ID is", name),
                "start the ranks with srun, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR "
                "and MASTER_PORT");
  const std::optional<std::uint64_t> found = read_number(*value);
  if (!found)
    throw Error(ErrorKind::config, fmt::format("{} must be an integer, not '{}'", name, *value));
  if (*found < low || *found > high)
    throw Error(ErrorKind::config,
                fmt::format("{}={} is out of range ({} to {})", name, *found, low, high));
  return static_cast<int>(*found);
}

/// Returns the first name of a node list: n[3-7,09]x[1-2],m -> n3x1.
std::string first_node(std::string_view list) {
  std::string name;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      name += list.front();
      list.remove_prefix(1);
      continue;
    }
    list.remove_prefix(1);
    const std::size_t end = std::min(list.find_first_of("-,]"), list.size());
    name += list.substr(0, end);
    list.remove_prefix(std::min(list.find(']'), list.size() - 1) + 1);
  }
  return name;
}

/// Returns item `index` of a list of counts such as `2(x3),1`.
std::optional<int> count_at(std::string_view list, int index) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const std::size_t repeat = item.find("(x");
    std::uint64_t times = 1;
    if (repeat != std::string_view::npos) {
      const auto given = read_number(item.substr(repeat + 2, item.size() - repeat - 3));
      if (!given || !item.ends_with(')')) return std::nullopt;
      times = *given;
    }
    const auto count = read_number(item.substr(0, repeat));
    if (!count || *count == 0 || *count > kMostTasks) return std::nullopt;
    if (static_cast<std::uint64_t>(index) < times) return static_cast<int>(*count);
    index -= static_cast<int>(std::min(times, kMostTasks));
  }
  return std::nullopt;
}

/// Returns the number of the step in which srun runs this process together with other tasks.
std::optional<std::uint64_t> shared_step(const SlurmLookup& lookup) {
  const auto step = text(lookup, "SLURM_STEP_ID");
  const auto tasks = text(lookup, "SLURM_STEP_NUM_TASKS");
  if (!step || !tasks || !text(lookup, "SLURM_PROCID")) return std::nullopt;
  const auto step_number = read_number(*step);
  if (!step_number || *step_number >= kFirstSpecialStep || *tasks == "1") return std::nullopt;
  return step_number;
}

}  // namespace

std::optional<SlurmRank> find_slurm_rank(const SlurmLookup& lookup) {
  const std::optional<std::uint64_t> step = shared_step(lookup);
  if (!step) return std::nullopt;
  SlurmRank place;
  place.world_size = number(lookup, "SLURM_STEP_NUM_TASKS", 1, kMostTasks);
  const auto tasks = static_cast<std::uint64_t>(place.world_size);
  place.rank = number(lookup, "SLURM_PROCID", 0, tasks - 1);
  place.nodes = number(lookup, "SLURM_STEP_NUM_NODES", 1, tasks);
  place.node_rank = number(lookup, "SLURM_NODEID", 0, static_cast<std::uint64_t>(place.nodes) - 1);
  const std::string counts = text(lookup, "SLURM_STEP_TASKS_PER_NODE").value_or("");
  const std::optional<int> here = count_at(counts, place.node_rank);
  if (!here || static_cast<std::uint64_t>(*here) > tasks)
    throw Error(ErrorKind::config,
                fmt::format("SLURM_STEP_TASKS_PER_NODE='{}' does not say how many of the {} tasks "
                            "run on node {}",
                            counts, place.world_size, place.node_rank));
  place.local_world_size = *here;
  place.local_rank =
      number(lookup, "SLURM_LOCALID", 0, static_cast<std::uint64_t>(place.local_world_size) - 1);
  place.master_addr = first_node(text(lookup, "SLURM_STEP_NODELIST").value_or(""));
  if (place.master_addr.empty())
    throw Error(ErrorKind::config, "SLURM_STEP_NODELIST is not set, but SLURM_STEP_ID is");
  const std::string job = text(lookup, "SLURM_JOB_ID").value_or("0");
  place.master_port =
      static_cast<int>(kFirstPort + (read_number(job).value_or(0) * 61 + *step) % kPorts);
  place.job = fmt::format("{}.{}", job, *step);
  const auto restarts = read_number(text(lookup, "SLURM_RESTART_COUNT").value_or("0"));
  place.restarts = static_cast<std::uint32_t>(restarts.value_or(0));
  return place;
}

}  // namespace ds
