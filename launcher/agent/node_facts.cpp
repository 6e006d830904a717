#include "launcher/agent/node_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "engine/base/cgroup_limits.h"
#include "engine/base/own_host_name.h"
#include "engine/base/split.h"
#include "launcher/agent/process_tree.h"

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

/// Returns the UUID in a file of the driver: "GPU UUID:   GPU-..."; empty if it is not known.
std::string uuid_in(const std::string& path) {
  const std::string text = read_small_file(path.c_str());
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("GPU UUID")) continue;
    const std::string uuid(line.substr(std::min(line.find("GPU-"), line.size())));
    return uuid.find('?') == std::string::npos ? uuid : std::string();
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
    device.uuid = uuid_in(root + "/proc/driver/nvidia/gpus/" + bus + "/information");
    const auto node = number(first_line_of(root + "/sys/bus/pci/devices/" + bus + "/numa_node"));
    if (node && *node >= 0) device.numa = *node;
  }
  return devices;
}

/// Returns the address that the launcher connected to. SSH_CONNECTION is "client port server port".
std::string address_of_ssh() {
  const char* const connection = std::getenv("SSH_CONNECTION");
  const std::vector<std::string_view> words = split(connection == nullptr ? "" : connection, ' ');
  return words.size() < 3 ? std::string() : std::string(words[2]);
}

const void* bytes_of(const sockaddr* address) {
  const int family = address == nullptr ? AF_UNSPEC : address->sa_family;
  if (family == AF_INET) return &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (family == AF_INET6) return &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return nullptr;
}

/// Returns the length of a network prefix from its mask.
std::uint32_t prefix_of(const sockaddr* mask, int family) {
  const auto* bytes = static_cast<const unsigned char*>(bytes_of(mask));
  std::uint32_t bits = 0;
  for (int i = 0; bytes != nullptr && i < (family == AF_INET ? 4 : 16); ++i)
    bits += static_cast<std::uint32_t>(std::popcount(bytes[i]));
  return bits;
}

std::vector<NodeAddress> own_addresses() {
  std::vector<NodeAddress> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const void* from = bytes_of(entry->ifa_addr);
    if (from == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    char text[INET6_ADDRSTRLEN] = {};
    if (::inet_ntop(family, from, text, sizeof text) != nullptr)
      addresses.push_back({text, entry->ifa_name, prefix_of(entry->ifa_netmask, family)});
  }
  ::freeifaddrs(list);
  // The address that the launcher reached comes first: other nodes most likely reach it, too.
  const std::string reached = address_of_ssh();
  const auto found = std::ranges::find(addresses, reached, &NodeAddress::address);
  if (found != addresses.end()) {
    std::rotate(addresses.begin(), found, found + 1);
  } else if (!reached.empty()) {
    addresses.insert(addresses.begin(), {reached, {}, 0});
  }
  return addresses;
}

/// Returns a name of the network namespace: different on two hosts, and equal for two containers of
/// one host only if they share the namespace.
std::string own_network() {
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const fs::path space = fs::read_symlink("/proc/self/ns/net", error);
  if (boot.empty() || error) return {};
  return boot + " " + space.string();
}

/// Returns "0", "1" and so on for the device files /dev/nvidia0, /dev/nvidia1 and so on.
std::vector<std::string> device_files() {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<std::string> names;
  std::error_code error;
  // Most nodes need not read all of /dev.
  if (!fs::exists("/dev/nvidiactl", error)) return names;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && number(std::string_view(name).substr(kPrefix.size())))
      names.push_back(std::to_string(names.size()));
  }
  return names;
}

/// Sets the numbers of processors and of larger parts. Reads few files, because every agent begins
/// with this: sockets by the first and last processor of each NUMA node, threads by one core.
void count_parts(Hello& hello, const std::vector<int>& allowed) {
  const std::map<int, int> node_of = numa_nodes("");
  std::map<int, std::pair<int, int>> ends;
  for (const int processor : allowed) {
    const auto node = node_of.find(processor);
    auto& range = ends.try_emplace(node == node_of.end() ? 0 : node->second, processor, processor)
                      .first->second;
    range.second = processor;
  }
  const std::string folder = "/sys/devices/system/cpu/cpu";
  std::set<int> sockets;
  for (const auto& [node, range] : ends)
    for (const int processor : {range.first, range.second})
      sockets.insert(number(first_line_of(folder + std::to_string(processor) +
                                          "/topology/physical_package_id"))
                         .value_or(0));
  const auto count = [](std::size_t n) {
    return static_cast<std::uint16_t>(std::max<std::size_t>(n, 1));
  };
  hello.cores = static_cast<std::uint32_t>(allowed.size());
  hello.numa_nodes = count(ends.size());
  hello.sockets = count(sockets.size());
  if (allowed.empty()) return;
  std::size_t threads = 0;
  for (const int one : numbers_of_list(first_line_of(folder + std::to_string(allowed.front()) +
                                                     "/topology/thread_siblings_list")))
    threads += std::ranges::binary_search(allowed, one) ? 1 : 0;
  hello.core_threads = count(threads);
}

}  // namespace

std::vector<int> numbers_of_list(std::string_view text) {
  std::vector<int> numbers;
  for (const std::string_view part : split(text, ',')) {
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
  std::map<std::string, int> l3_of;            // by the processors that share it
  for (const int processor : allowed) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(processor);
    const auto package = number(first_line_of(folder + "/topology/physical_package_id"));
    const auto core = number(first_line_of(folder + "/topology/core_id"));
    const int socket = std::max(package.value_or(0), 0);
    std::string shared = first_line_of(folder + "/cache/index3/shared_cpu_list");
    if (shared.empty()) shared = "socket " + std::to_string(socket);
    const int l3 = l3_of.try_emplace(shared, static_cast<int>(l3_of.size())).first->second;
    // Without these files the processor gets a key of its own.
    const std::pair<int, int> key =
        package && core ? std::pair(*package, *core) : std::pair(-2, -2 - processor);
    const int index = core_of.try_emplace(key, static_cast<int>(core_of.size())).first->second;
    const auto node = node_of.find(processor);
    topology.processors.push_back(
        {processor, index, node == node_of.end() ? 0 : node->second, socket, l3});
  }
  topology.devices = nvidia_devices(root);
  return topology;
}

Hello describe_node() {
  Hello hello;
  hello.build = DS_VERSION;
  hello.pid = ::getpid();
  hello.hostname = own_host_name();
  count_parts(hello, allowed_processors());
  if (hello.cores == 0)
    hello.cores = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  const double quota = cpu_quota();
  if (quota < 1e6) hello.quota_milli = static_cast<std::uint32_t>(quota * 1000);
  hello.addresses = own_addresses();
  hello.network = own_network();
  hello.clock = clock_value(std::chrono::steady_clock::now());
  // A container has only the device files that it was given.
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  hello.devices_limited = visible != nullptr;
  hello.devices = visible != nullptr ? split_visible_devices(visible) : device_files();
  return hello;
}

std::vector<std::string> split_visible_devices(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view name : split(text, ',')) {
    const std::size_t begin = std::min(name.find_first_not_of(' '), name.size());
    name = name.substr(begin, name.find_last_not_of(' ') + 1 - begin);
    if (name.empty() || name.starts_with('-')) break;
    names.emplace_back(name);
  }
  return names;
}

}  // namespace ds::launcher
