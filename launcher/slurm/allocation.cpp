// Reader of SLURM_JOB_*; in heterogeneous jobs each component has its own, *_HET_GROUP_0 and so on.
#include "launcher/slurm/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"
#include "launcher/hosts/host_word.h"
#include "launcher/slurm/node_list.h"

namespace ds::launcher {
namespace {

constexpr int kMostComponents = 128;  // Slurm's own limit
constexpr std::uint64_t kFirstSpecialStep = 0xfffffff0;

[[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorKind::config, "cannot use the Slurm allocation: " + message, hint);
}

constexpr const char* kNoNodesHint =
    "name the hosts (--hostfile FILE or -H LIST), or unset SLURM_JOB_ID to run outside an "
    "allocation";

template <class Number>
std::optional<Number> count_of(std::string_view text) {
  const std::optional<Number> number = whole_number<Number>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Variables of the job, or of one of its components.
class JobVariables {
 public:
  JobVariables(const SlurmVariable& variable, std::string suffix)
      : variable_(variable), suffix_(std::move(suffix)) {}

  [[nodiscard]] std::string name(const std::string& base) const { return base + suffix_; }

  /// Returns the text; nothing if the variable is not set or empty.
  [[nodiscard]] std::optional<std::string> text(const std::string& base) const {
    std::optional<std::string> value = variable_(name(base));
    if (value && value->empty()) value.reset();
    return value;
  }

  /// Returns the integer.   Errors:  Error{config} naming the variable.
  template <class Number = int>
  [[nodiscard]] std::optional<Number> number(const std::string& base) const {
    const std::optional<std::string> value = text(base);
    if (!value) return std::nullopt;
    const std::optional<Number> number = count_of<Number>(*value);
    if (!number) fail(fmt::format("{} must be an integer, not '{}'", name(base), *value));
    return number;
  }

  /// Returns one count per node from `2(x3),1`.
  [[nodiscard]] std::optional<std::vector<int>> counts(const std::string& base,
                                                       std::size_t nodes) const {
    const std::optional<std::string> value = text(base);
    if (!value) return std::nullopt;
    auto counts = expand_counts(*value);
    if (!counts)
      fail(fmt::format("{}='{}' is not a list of counts", name(base), *value),
           "Slurm writes such lists as 2(x3),1");
    if (counts->size() != nodes)
      fail(fmt::format("{}='{}' has {} nodes, but {} has {}", name(base), *value, counts->size(),
                       name("SLURM_JOB_NODELIST"), nodes),
           "it may be left over from another job or step");
    return counts;
  }

 private:
  const SlurmVariable& variable_;
  std::string suffix_;
};

/// Reads `4`, `a100:4` or `a100:2,v100:2`.
std::optional<int> gpu_count(const std::string& text) {
  int total = 0;
  for (const std::string_view item : split(text, ',')) {
    const auto count = count_of<int>(item.substr(item.rfind(':') + 1));
    if (!count || *count > kMaxSlots) return std::nullopt;
    total += *count;
  }
  return total;
}

std::optional<int> gpus(const JobVariables& job, const std::string& base) {
  const std::optional<std::string> value = job.text(base);
  if (!value) return std::nullopt;
  const std::optional<int> count = gpu_count(*value);
  if (!count) fail(fmt::format("{} must be a number of GPUs, not '{}'", job.name(base), *value));
  return count;
}

struct Slots {
  std::vector<int> by_node;
  std::string from;
};

/// Returns whether this is a step, whose counts of tasks are not those of the job.
bool in_step(const SlurmVariable& variable) {
  const auto step = variable("SLURM_STEP_ID");
  const auto number = step ? count_of<std::uint64_t>(*step) : std::nullopt;
  return number && *number < kFirstSpecialStep;
}

/// Returns the GPUs of each node as far as known; nothing if the job has none. `here`: variables of
/// this node, which is one of these nodes.
std::optional<Slots> gpu_slots(const JobVariables& job, const JobVariables& here, std::size_t nodes,
                               const std::optional<std::vector<int>>& tasks) {
  const auto all = [&](int count, const std::string& from) {
    return Slots{std::vector<int>(nodes, count), from};
  };
  if (const auto each = gpus(job, "SLURM_GPUS_PER_NODE"); each && *each > 0)
    return all(*each, job.name("SLURM_GPUS_PER_NODE"));
  const std::optional<int> total = gpus(job, "SLURM_GPUS");
  std::optional<int> on_node = gpus(here, "SLURM_GPUS_ON_NODE");
  std::string from = "SLURM_GPUS_ON_NODE";
  if (const auto list = here.text("SLURM_JOB_GPUS"); !on_node && list) {
    on_node = static_cast<int>(std::count(list->begin(), list->end(), ',')) + 1;
    from = "SLURM_JOB_GPUS";
  }
  if (on_node && *on_node > 0 && (!total || *total == *on_node * static_cast<int>(nodes)))
    return all(*on_node, from);
  if (total && *total > 0) return all(nodes == 1 ? *total : kAutoSlots, job.name("SLURM_GPUS"));
  const auto per_task = gpus(job, "SLURM_GPUS_PER_TASK");
  if (!per_task || *per_task == 0 || !tasks) return std::nullopt;
  Slots slots{*tasks, job.name("SLURM_GPUS_PER_TASK")};
  for (int& count : slots.by_node) count *= *per_task;
  return slots;
}

Slots slots_of(const SlurmVariable& variable, const JobVariables& job, std::size_t nodes,
               bool is_first) {
  const bool step = in_step(variable);
  const auto tasks = step ? std::nullopt : job.counts("SLURM_TASKS_PER_NODE", nodes);
  const SlurmVariable nothing = [](const std::string&) { return std::nullopt; };
  const JobVariables here(is_first ? variable : nothing, "");
  if (auto slots = gpu_slots(job, here, nodes, tasks)) return *slots;
  if (tasks) return {*tasks, job.name("SLURM_TASKS_PER_NODE")};
  if (const auto each = job.number("SLURM_NTASKS_PER_NODE"))
    return {std::vector<int>(nodes, *each), job.name("SLURM_NTASKS_PER_NODE")};
  return {std::vector<int>(nodes, 1), ""};
}

std::vector<std::string> names_of(const JobVariables& job) {
  const char* base = job.text("SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
  const std::optional<std::string> list = job.text(base);
  if (!list) fail(job.name("SLURM_JOB_NODELIST") + " is not set", kNoNodesHint);
  auto expanded = expand_node_list(*list);
  if (const auto* problem = std::get_if<RangeProblem>(&expanded))
    fail(fmt::format("{}='{}', byte {}: {}", job.name(base), *list, problem->offset + 1,
                     problem->message),
         problem->hint);
  auto names = std::get<std::vector<std::string>>(std::move(expanded));
  if (names.empty()) fail(fmt::format("{}='{}' has no nodes", job.name(base), *list), kNoNodesHint);
  const auto nodes = job.number<std::uint64_t>("SLURM_JOB_NUM_NODES");
  if (nodes && *nodes != names.size())
    fail(fmt::format("{}='{}' has {} nodes, but {} is {}", job.name(base), *list, names.size(),
                     job.name("SLURM_JOB_NUM_NODES"), *nodes),
         "one may be left over from another job");
  return names;
}

/// Returns the CPUs of each node, if they are equal.
std::optional<int> equal_cpus(const JobVariables& job, std::size_t nodes) {
  const auto cpus = job.counts("SLURM_JOB_CPUS_PER_NODE", nodes);
  if (!cpus) return std::nullopt;
  const bool equal = std::ranges::all_of(*cpus, [&](int each) { return each == cpus->front(); });
  return equal ? std::optional(cpus->front()) : std::nullopt;
}

/// Adds the nodes of the job, or of one component.
void add_group(Allocation& allocation, std::unordered_map<std::string, std::size_t>& known,
               const SlurmVariable& variable, const JobVariables& job, int component) {
  const std::vector<std::string> names = names_of(job);
  const Slots slots = slots_of(variable, job, names.size(), component == 0);
  if (component == 0) allocation.slots_from = slots.from;
  const std::string from = job.name("SLURM_JOB_NODELIST");
  const std::size_t hosts_before = allocation.hosts.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int count = std::min(slots.by_node[i], kMaxSlots);
    const auto [entry, is_new] = known.try_emplace(names[i], allocation.hosts.size());
    if (is_new) {
      allocation.hosts.push_back({.name = names[i],
                                  .slots = count,
                                  .place = {.file = from, .line = 1, .column = 1},
                                  .bare = slots.from.empty()});
    } else if (entry->second >= hosts_before) {
      fail(fmt::format("{} names {} twice", from, names[i]));
    } else if (int& before = allocation.hosts[entry->second].slots; before != kAutoSlots) {
      before = count == kAutoSlots ? kAutoSlots : std::min(before + count, kMaxSlots);
    }
  }
  std::vector<std::string> fresh;
  for (std::size_t i = hosts_before; i < allocation.hosts.size(); ++i)
    fresh.push_back(allocation.hosts[i].name);
  if (fresh.empty()) return;
  allocation.groups.push_back({.component = component,
                               .names = std::move(fresh),
                               .cpus_each = equal_cpus(job, names.size())});
}

void check_ids(const SlurmVariable& variable) {
  const auto id = variable("SLURM_JOB_ID");
  const auto old = variable("SLURM_JOBID");
  if (id && old && !id->empty() && !old->empty() && *id != *old)
    fail(fmt::format("SLURM_JOB_ID is {}, but SLURM_JOBID is {}", *id, *old),
         "one is left over from another job; unset it");
}

int components(const JobVariables& job) {
  auto size = job.number("SLURM_HET_SIZE");
  if (!size) size = job.number("SLURM_PACK_SIZE");
  if (size && (*size < 1 || *size > kMostComponents))
    fail(fmt::format("SLURM_HET_SIZE={} is out of range", *size));
  return size.value_or(0);
}

}  // namespace

bool in_allocation(const SlurmVariable& variable) {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST"})
    if (const auto value = variable(name); value && !value->empty()) return true;
  return false;
}

std::optional<Allocation> find_allocation(const SlurmVariable& variable) {
  if (!in_allocation(variable)) return std::nullopt;
  check_ids(variable);
  const JobVariables job(variable, "");
  Allocation allocation;
  allocation.job = job.text(job.text("SLURM_JOB_ID") ? "SLURM_JOB_ID" : "SLURM_JOBID").value_or("");
  allocation.restarts = job.number<std::uint32_t>("SLURM_RESTART_COUNT").value_or(0);
  std::unordered_map<std::string, std::size_t> known;
  const int size = components(job);
  allocation.nodes_from = size == 0 ? "SLURM_JOB_NODELIST" : "SLURM_JOB_NODELIST_HET_GROUP_*";
  allocation.heterogeneous = size > 0;
  if (size == 0) add_group(allocation, known, variable, job, 0);
  for (int i = 0; i < size; ++i) {
    const JobVariables component(variable, fmt::format("_HET_GROUP_{}", i));
    add_group(allocation, known, variable, component, i);
  }
  return allocation;
}

}  // namespace ds::launcher
