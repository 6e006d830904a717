// Where processors and GPUs of this node lie, as Linux tells it under /sys and /proc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// What Linux calls a CPU: one hardware thread.
struct Processor {
  int number = 0;
  int core = 0;  // equal for the threads of one core, and for those alone
  int numa = 0;  // its NUMA node; 0 where Linux tells none
  friend bool operator==(const Processor&, const Processor&) = default;
};

struct DevicePlace {
  std::string uuid{};  // GPU-...; empty where the driver does not tell it
  int numa = -1;       // -1: not known
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

struct NodeTopology {
  std::vector<Processor> processors{};  // that this process may use, by number
  std::vector<DevicePlace> devices{};   // NVIDIA's, in the order of the PCI bus
};

/// What this process may use, ascending.
std::vector<int> allowed_processors();

/// `root` stands before /sys and /proc. What cannot be read stays unknown: each processor is a
/// core of its own then, of NUMA node 0.
NodeTopology read_topology(const std::string& root, const std::vector<int>& allowed);

/// "0-3,8" -> 0 1 2 3 8; empty for what is no such list. Pure. Source: cpuset(7), "List format".
std::vector<int> numbers_of_list(std::string_view text);

}  // namespace ds::launcher
