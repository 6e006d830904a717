// Environment of this process, read from the kernel and the file system, without DNS.
#include "launcher/sources/world.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/own_host_name.h"
#include "engine/base/unique_fd.h"
#include "launcher/sources/stable_file.h"

extern char** environ;

namespace ds::launcher {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

FileText failure(int error_number) {
  return {.text = {}, .problem = std::strerror(error_number), .missing = error_number == ENOENT};
}

FileText read_whole(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return failure(errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return failure(errno);
  if (S_ISDIR(info.st_mode)) return failure(EISDIR);
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count == 0) return {.text = std::move(text)};
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(errno);
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile)
      return {.text = {}, .problem = "the file is larger than 16 MiB"};
  }
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> interface_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (entry->ifa_addr->sa_family == AF_INET)
      bytes = &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr;
    else if (entry->ifa_addr->sa_family == AF_INET6)
      bytes = &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    else
      continue;
    if (::inet_ntop(entry->ifa_addr->sa_family, bytes, text.data(), text.size()) != nullptr)
      addresses.emplace_back(text.data());
  }
  return addresses;
}

}  // namespace

std::optional<std::string> World::variable(const std::string& name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

World this_world() {
  World world;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      world.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  world.read_file = [](const std::string& path) {
    return path == kRewrittenFile ? read_when_stable([&] { return read_whole(path); })
                                  : read_whole(path);
  };
  world.list_folder = names_in;
  world.hostname = own_host_name();
  world.addresses = interface_addresses();
  return world;
}

}  // namespace ds::launcher
