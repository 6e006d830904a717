// CUDA_VISIBLE_DEVICES first; in a container only the device files that it was given are there.
#include "launcher/agent/node_devices.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ds::launcher {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Device files /dev/nvidia0, /dev/nvidia1 and so on.
std::size_t count_device_files() {
  std::size_t count = 0;
  std::error_code error;
  if (!std::filesystem::exists("/dev/nvidiactl", error)) return 0;  // spares most nodes the walk
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "nvidia";
    if (name.starts_with(kPrefix) && is_number(std::string_view(name).substr(kPrefix.size())))
      ++count;
  }
  return count;
}

}  // namespace

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
