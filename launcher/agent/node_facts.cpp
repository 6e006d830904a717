#include "launcher/agent/node_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "engine/base/own_host_name.h"
#include "launcher/agent/node_topology.h"
#include "launcher/agent/proc_files.h"

namespace ds::launcher {
namespace {

std::uint32_t cores_by_affinity() {
  const std::size_t allowed = allowed_processors().size();
  if (allowed > 0) return static_cast<std::uint32_t>(allowed);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<std::uint32_t>(std::max(online, 1L));
}

/// Returns the smallest CPU quota of this process's cgroup and those above it (cgroup v2).
std::uint32_t cgroup_quota() {
  std::ifstream file("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::uint32_t smallest = 0;
  for (; !group.empty(); group.resize(group.rfind('/'))) {
    const auto quota = quota_of_cpu_max(first_line_of("/sys/fs/cgroup" + group + "/cpu.max"));
    if (quota && (smallest == 0 || *quota < smallest)) smallest = *quota;
    if (group.rfind('/') == std::string::npos) break;
  }
  return smallest;
}

/// Returns the address that the launcher connected to. SSH_CONNECTION is "client port server port".
std::string address_of_ssh() {
  const char* const connection = std::getenv("SSH_CONNECTION");
  std::istringstream words(connection == nullptr ? "" : connection);
  std::string word;
  for (int i = 0; i < 3; ++i)
    if (!(words >> word)) return {};
  return word;
}

const void* bytes_of(const sockaddr* address) {
  if (address == nullptr) return nullptr;
  if (address->sa_family == AF_INET)
    return &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    return &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
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
  const auto found = std::find_if(addresses.begin(), addresses.end(),
                                  [&](const NodeAddress& own) { return own.address == reached; });
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
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/net", error);
  if (boot.empty() || error) return {};
  return boot + " " + space.string();
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Counts the device files /dev/nvidia0, /dev/nvidia1 and so on.
std::size_t count_device_files() {
  std::size_t count = 0;
  std::error_code error;
  if (!std::filesystem::exists("/dev/nvidiactl", error))
    return 0;  // Most nodes need not read all of /dev.
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "nvidia";
    if (name.starts_with(kPrefix) && is_number(std::string_view(name).substr(kPrefix.size())))
      ++count;
  }
  return count;
}

}  // namespace

std::optional<std::uint32_t> quota_of_cpu_max(std::string_view text) {
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || period == 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(quota * 1000 / period, 1U << 30));
}

Hello describe_node() {
  Hello hello;
  hello.build = DS_VERSION;
  hello.pid = ::getpid();
  hello.hostname = own_host_name();
  hello.cores = cores_by_affinity();
  hello.quota_milli = cgroup_quota();
  hello.addresses = own_addresses();
  hello.network = own_network();
  hello.clock = clock_value(std::chrono::steady_clock::now());
  NodeDevices devices = find_devices();
  hello.devices = std::move(devices.names);
  hello.devices_limited = devices.limited;
  return hello;
}

std::vector<std::string> split_visible_devices(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t begin = std::min(name.find_first_not_of(' '), name.size());
    name = name.substr(begin, name.find_last_not_of(' ') + 1 - begin);
    if (name.empty() || name.starts_with('-')) break;
    names.emplace_back(name);
  }
  return names;
}

NodeDevices find_devices() {
  NodeDevices devices;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    devices.limited = true;
    devices.names = split_visible_devices(visible);
    return devices;
  }
  const std::size_t count = count_device_files();
  for (std::size_t i = 0; i < count; ++i) devices.names.push_back(std::to_string(i));
  return devices;
}

}  // namespace ds::launcher
