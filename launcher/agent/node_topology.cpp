#include "launcher/agent/node_topology.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "launcher/agent/proc_files.h"

namespace ds::launcher {
namespace {

namespace fs = std::filesystem;

constexpr int kMostProcessors = 1 << 16;

/// Returns the value of a text that is one integer.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && stop == text.data() + text.size() && error == std::errc();
  return whole ? std::optional(value) : std::nullopt;
}

/// Returns the NUMA node of each processor.
std::map<int, int> numa_nodes(const std::string& root) {
  std::map<int, int> node_of;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    const auto node = name.starts_with("node") ? number(name.substr(4)) : std::nullopt;
    if (!node) continue;
    for (const int processor : numbers_of_list(first_line_of(entry.path().string() + "/cpulist")))
      node_of[processor] = *node;
  }
  return node_of;
}

/// Returns the value of a line "Name:   value" in a file of the driver.
std::string driver_value(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    return colon == std::string::npos || from == std::string::npos ? "" : line.substr(from);
  }
  return {};
}

/// Returns the GPUs in the order of the PCI bus: the driver names folders like 0000:3b:00.0.
std::vector<DevicePlace> nvidia_devices(const std::string& root) {
  std::vector<std::string> buses;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/proc/driver/nvidia/gpus", error))
    buses.push_back(entry.path().filename().string());
  std::sort(buses.begin(), buses.end());
  std::vector<DevicePlace> devices;
  for (const std::string& bus : buses) {
    DevicePlace& device = devices.emplace_back();
    const std::string uuid =
        driver_value(root + "/proc/driver/nvidia/gpus/" + bus + "/information", "GPU UUID");
    if (uuid.starts_with("GPU-") && uuid.find('?') == std::string::npos) device.uuid = uuid;
    const auto node = number(first_line_of(root + "/sys/bus/pci/devices/" + bus + "/numa_node"));
    if (node && *node >= 0) device.numa = *node;
  }
  return devices;
}

}  // namespace

std::vector<int> numbers_of_list(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostProcessors) return {};
    for (int i = *first; i <= *last; ++i) numbers.push_back(i);
  }
  return numbers;
}

std::vector<int> allowed_processors() {
  std::vector<int> allowed;
  for (int room = 1024; room <= kMostProcessors; room *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(room));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(room));
    CPU_ZERO_S(size, set);
    const bool known = ::sched_getaffinity(0, size, set) == 0;
    const bool too_small = !known && errno == EINVAL;
    for (int i = 0; known && i < room; ++i)
      if (CPU_ISSET_S(static_cast<std::size_t>(i), size, set)) allowed.push_back(i);
    CPU_FREE(set);
    if (!too_small) break;
  }
  return allowed;
}

NodeTopology read_topology(const std::string& root, const std::vector<int>& allowed) {
  NodeTopology topology;
  const std::map<int, int> node_of = numa_nodes(root);
  std::map<std::pair<int, int>, int> core_of;  // by package and core number
  for (const int processor : allowed) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
    const auto package = number(first_line_of(folder + "physical_package_id"));
    const auto core = number(first_line_of(folder + "core_id"));
    // Without these files the processor gets a key of its own.
    const std::pair<int, int> key =
        package && core ? std::pair(*package, *core) : std::pair(-2, -2 - processor);
    const int index = core_of.try_emplace(key, static_cast<int>(core_of.size())).first->second;
    const auto node = node_of.find(processor);
    topology.processors.push_back({processor, index, node == node_of.end() ? 0 : node->second});
  }
  topology.devices = nvidia_devices(root);
  return topology;
}

}  // namespace ds::launcher
