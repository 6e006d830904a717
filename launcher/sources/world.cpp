// Environment of this process, read from the kernel and the file system, without DNS.
#include "launcher/sources/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>

#include "engine/base/own_host_name.h"
#include "engine/base/unique_fd.h"

extern char** environ;

namespace ds::launcher {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;
/// et-operator rewrites this file with `echo ... > FILE` whenever workers come or go. For a moment
/// it is empty or ends in the middle of a line.
constexpr const char* kRewrittenFile = "/etc/edl/hostfile";

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
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (!entry.path().filename().string().starts_with('.'))
      names.push_back(entry.path().filename());
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

FileText read_when_stable(const std::function<FileText()>& read,
                          const std::function<void(std::chrono::milliseconds)>& sleep) {
  FileText last = read();
  for (std::chrono::milliseconds spent{0}; last.text && spent < kStableLimit; spent += kStableFor) {
    sleep(kStableFor);
    FileText next = read();
    if (!next.text || (!next.text->empty() && *next.text == *last.text)) return next;
    last = std::move(next);
  }
  if (last.text && !last.text->empty())
    return {.text = {}, .problem = "it was being rewritten for 10 s"};
  return last;
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
    if (path != kRewrittenFile) return read_whole(path);
    return read_when_stable(
        [&] { return read_whole(path); },
        [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); });
  };
  world.list_folder = names_in;
  world.hostname = own_host_name();
  world.addresses = interface_addresses();
  return world;
}

}  // namespace ds::launcher
