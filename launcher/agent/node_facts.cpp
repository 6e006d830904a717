// Each fact from one place of the system; what cannot be learnt stays empty.
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

#include "launcher/agent/node_devices.h"
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

/// The smallest quota on the way from this process's cgroup to the top (cgroup v2).
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

/// The address of this node as sshd saw it: SSH_CONNECTION is "client port server port".
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

/// The bits of a network mask.
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
  // The address by which the launcher came is the first: other nodes most likely reach it too.
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

/// The network stack that this process sees: of two hosts never the same, of two containers of one
/// host only if they share it.
std::string own_network() {
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/net", error);
  if (boot.empty() || error) return {};
  return boot + " " + space.string();
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
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) hello.hostname = name;
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

}  // namespace ds::launcher
