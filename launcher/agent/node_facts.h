// Facts about this node: name, processors, NUMA nodes, addresses and GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/messages.h"

namespace ds::launcher {

/// One hardware thread, which Linux calls a CPU.
struct Processor {
  int number = 0;
  int core = 0;  // equal for the threads of one core only
  int numa = 0;  // NUMA node; 0 if Linux names none
  int socket = 0;
  int l3 = 0;  // equal for the threads that share an L3 cache; without one, for those of a socket
  friend bool operator==(const Processor&, const Processor&) = default;
};

struct DevicePlace {
  std::string uuid{};  // GPU-...; empty if the driver does not tell
  int numa = -1;       // -1: not known
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

struct NodeTopology {
  std::vector<Processor> processors{};  // usable by this process, by number
  std::vector<DevicePlace> devices{};   // NVIDIA GPUs, in the order of the PCI bus
};

/// Returns the processors that this process may use, ascending.
std::vector<int> allowed_processors();

/// Reads the topology of the processors `allowed`. Tests put `root` before /sys and /proc. Where
/// the files are missing, each processor counts as a core of its own on NUMA node 0.
NodeTopology read_topology(const std::string& root, const std::vector<int>& allowed);

/// Returns the numbers of a list such as "0-3,8"; empty for other text. Pure.
/// Source: cpuset(7), "List format".
std::vector<int> numbers_of_list(std::string_view text);

/// Returns a Hello with all facts; what cannot be read stays empty. The GPUs are those that
/// programs may use, by CUDA_VISIBLE_DEVICES, else by the device files of the driver.
Hello describe_node();

/// Returns the entries of a CUDA_VISIBLE_DEVICES up to the first negative one. Pure.
std::vector<std::string> split_visible_devices(std::string_view text);

}  // namespace ds::launcher
