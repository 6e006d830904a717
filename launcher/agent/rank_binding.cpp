#include "launcher/agent/rank_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

constexpr int kWholeMachine = -1;

/// Returns the NUMA node of a device; -1 if it is not known.
int numa_of_device(const NodeTopology& topology, const std::string& name) {
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error == std::errc() && stop == name.data() + name.size())
    return index < topology.devices.size() ? topology.devices[index].numa : -1;
  for (const DevicePlace& device : topology.devices) {
    // CUDA accepts a prefix of a UUID, and MIG-GPU-<UUID>/1/0 for a part of a GPU.
    const bool same = !device.uuid.empty() && name.size() > 4 &&
                      (device.uuid.starts_with(name) || name.starts_with("MIG-" + device.uuid));
    if (same) return device.numa;
  }
  return -1;
}

std::vector<int> numa_of_ranks(const NodeTopology& topology,
                               const std::vector<std::string>& devices,
                               const std::vector<int>& nodes, bool heed_devices) {
  std::vector<int> chosen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int near = heed_devices ? numa_of_device(topology, devices[i]) : -1;
    chosen.push_back(
        std::ranges::count(nodes, near) > 0 ? near : nodes[i * nodes.size() / devices.size()]);
  }
  return chosen;
}

/// Returns the processors of a NUMA node or of the whole machine, with threads of a core adjacent.
std::vector<Processor> processors_of(const NodeTopology& topology, int numa) {
  std::vector<Processor> found;
  for (const Processor& one : topology.processors)
    if (numa == kWholeMachine || one.numa == numa) found.push_back(one);
  std::ranges::stable_sort(found, {}, [](const Processor& p) { return std::pair(p.numa, p.core); });
  return found;
}

/// Returns true if every rank can have a processor of its own on its NUMA node.
bool has_room(const NodeTopology& topology, const std::vector<int>& numa) {
  std::map<int, std::ptrdiff_t> left;
  for (const Processor& one : topology.processors) ++left[one.numa];
  return std::all_of(numa.begin(), numa.end(), [&](int node) { return left[node]-- > 0; });
}

/// Returns share `index` of `parts`, in whole cores if there are enough.
std::vector<Processor> share_of(const std::vector<Processor>& all, std::size_t index,
                                std::size_t parts) {
  std::vector<std::size_t> starts;  // of the units that are handed out
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i == 0 || all[i].core != all[i - 1].core) starts.push_back(i);
  if (starts.size() < parts) {
    starts.clear();
    for (std::size_t i = 0; i < all.size(); ++i) starts.push_back(i);
  }
  const std::size_t units = starts.size();
  starts.push_back(all.size());
  std::size_t first = index * units / parts;
  std::size_t last = (index + 1) * units / parts;
  if (units < parts) first = index % units, last = first + 1;  // Ranks share units.
  return {all.begin() + static_cast<std::ptrdiff_t>(starts[first]),
          all.begin() + static_cast<std::ptrdiff_t>(starts[last])};
}

RankBinding binding_of(const std::vector<Processor>& processors, bool one_of_several) {
  RankBinding binding;
  for (const Processor& one : processors) binding.processors.push_back(one.number);
  std::sort(binding.processors.begin(), binding.processors.end());
  const int numa = processors.front().numa;
  if (std::ranges::all_of(processors, [&](const Processor& p) { return p.numa == numa; }))
    binding.numa = numa;
  binding.prefers_memory = one_of_several && binding.numa >= 0;
  return binding;
}

/// Returns the part of a node that a processor belongs to. Parts of one level have different keys.
int part_of(const Processor& one, Level level) {
  switch (level) {
    case Level::node:
      return 0;
    case Level::socket:
      return one.socket;
    case Level::numa:
      return one.numa;
    case Level::l3cache:
      return one.l3;
    case Level::core:
      return one.core;
    case Level::hwthread:
      return one.number;
  }
  return 0;
}

/// Returns the parts of a level that `processors` belong to, in their order.
std::vector<int> parts_of(const std::vector<Processor>& processors, Level level) {
  std::vector<int> parts;
  for (const Processor& one : processors)
    if (std::ranges::count(parts, part_of(one, level)) == 0) parts.push_back(part_of(one, level));
  return parts;
}

std::vector<Processor> select(const std::vector<Processor>& all, Level level,
                              std::span<const int> parts) {
  std::vector<Processor> found;
  for (const Processor& one : all)
    if (std::ranges::count(parts, part_of(one, level)) > 0) found.push_back(one);
  return found;
}

/// Returns the index of the part that each rank is mapped to.
std::vector<std::size_t> map_ranks(const LevelBinding& how, std::size_t parts, std::size_t ranks) {
  std::vector<std::size_t> part_of_rank;
  for (std::size_t i = 0; i < ranks; ++i)
    part_of_rank.push_back((how.per_part > 0 ? i / how.per_part : i) % parts);
  if (how.fill) std::ranges::sort(part_of_rank);
  return part_of_rank;
}

/// Binds ranks as Open MPI and Hydra do: a rank is mapped to a part of the node, and takes the
/// next `width` free parts of the level `to` inside of it, or the part around it.
std::vector<RankBinding> bind_by_level(const LevelBinding& how, const NodeTopology& topology,
                                       std::size_t ranks) {
  std::vector<Processor> all = topology.processors;
  std::ranges::stable_sort(all, {}, [](const Processor& p) {
    return std::tuple(p.socket, p.numa, p.l3, p.core, p.number);
  });
  std::vector<RankBinding> bindings(ranks);
  const std::vector<int> maps = parts_of(all, how.map);
  const bool one_numa = parts_of(all, Level::numa).size() == 1;
  const std::vector<std::size_t> part_of_rank = map_ranks(how, maps.size(), ranks);
  std::map<std::size_t, std::size_t> taken;  // parts `to` that ranks of a part have taken
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t at = part_of_rank[i];
    const std::vector<int> inside =
        parts_of(select(all, how.map, std::span(maps).subspan(at, 1)), how.to);
    const std::size_t width = std::min<std::size_t>(std::max<int>(how.width, 1), inside.size());
    std::vector<int> own;
    for (std::size_t& next = taken[at]; own.size() < width; ++next)
      own.push_back(inside[next % inside.size()]);
    bindings[i] = binding_of(select(all, how.to, own), !one_numa);
  }
  return bindings;
}

}  // namespace

std::vector<RankBinding> bind_ranks(Bind how, const NodeTopology& topology,
                                    const std::vector<std::string>& devices,
                                    const LevelBinding& level) {
  std::vector<RankBinding> bindings(devices.size());
  if (how == Bind::none || topology.processors.empty() || devices.empty()) return bindings;
  if (how == Bind::level) return bind_by_level(level, topology, devices.size());
  std::set<int> known;
  for (const Processor& one : topology.processors) known.insert(one.numa);
  const std::vector<int> nodes(known.begin(), known.end());
  std::vector<int> numa = numa_of_ranks(topology, devices, nodes, true);
  if (how == Bind::cores && !has_room(topology, numa))
    numa = numa_of_ranks(topology, devices, nodes, false);
  if (how == Bind::cores && !has_room(topology, numa)) numa.assign(numa.size(), kWholeMachine);
  std::map<int, std::size_t> before;  // earlier ranks on the same NUMA node
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto together = static_cast<std::size_t>(std::count(numa.begin(), numa.end(), numa[i]));
    const std::vector<Processor> all = processors_of(topology, numa[i]);
    bindings[i] = binding_of(how == Bind::cores ? share_of(all, before[numa[i]]++, together) : all,
                             nodes.size() > 1);
  }
  return bindings;
}

std::string binding_text(const RankBinding& binding) {
  if (binding.processors.empty()) return "any processor";
  return fmt::format("processor{} {}{}", binding.processors.size() == 1 ? "" : "s",
                     rank_ranges(binding.processors),
                     binding.numa < 0 ? "" : fmt::format(" of NUMA node {}", binding.numa));
}

std::vector<unsigned long> affinity_mask(const std::vector<int>& processors) {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask;
  for (const int number : processors) {
    const auto at = static_cast<std::size_t>(number);
    if (mask.size() <= at / kBits) mask.resize(at / kBits + 1);
    mask[at / kBits] |= 1UL << (at % kBits);
  }
  return mask;
}

}  // namespace ds::launcher
