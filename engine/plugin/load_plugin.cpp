// Finds and opens the plugin.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/plugin/build_tag.h"
#include "engine/plugin/plugin.h"

namespace ds {
namespace {

constexpr const char *kName = "libdsengine_cuda.so", *kName12 = "libdsengine_cuda12.so";
constexpr const char* kVariable = "DSLAUNCH_CUDA_PLUGIN";

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string text(path, static_cast<std::size_t>(length));
  return text.substr(0, text.rfind('/'));
}

/// Returns the newest CUDA that the driver supports: 12040; 0 without a driver.
int driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto read = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  return read != nullptr && read(&version) == 0 ? version : 0;
}

struct Candidates {
  std::vector<std::string> paths;
  std::string reason;
};
Candidates candidates() {
  const char* const given = std::getenv(kVariable);
  if (given != nullptr && *given != '\0') return {{given}, kVariable};
  Candidates found{{}, {}};
  PluginOrder order = plugin_order(driver_version());
  const std::string folder = own_folder();
  for (const std::string& name : order.names) {
    found.paths.push_back(folder + "/" + name);
    found.paths.push_back(folder + "/../lib/" + name);
  }
  found.reason = std::move(order.reason);
  return found;
}

std::string& opened() {
  static std::string text;
  return text;
}

void* open_first(const std::vector<std::string>& paths, std::string& path) {
  std::string reasons;
  for (const std::string& candidate : paths) {
    // Binds all symbols at once: a missing one must show here, not in the middle of a step.
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      path = candidate;
      return library;
    }
    const char* const reason = dlerror();
    reasons += fmt::format("\n  {}", reason != nullptr ? reason : candidate);
  }
  throw Error(ErrorKind::config,
              fmt::format("the CUDA backend ({}) cannot be opened:{}", kName, reasons),
              fmt::format("build it where nvcc is installed (DS_CUDA=on), set {} to its path, or "
                          "set device.backend = \"cpu\"",
                          kVariable));
}

const Plugin& open_plugin() {
  std::string path;
  const Candidates from = candidates();
  void* const library = open_first(from.paths, path);  // stays open until the process ends
  using Entry = const Plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "dsengine_plugin"));
  if (entry == nullptr) {
    throw Error(ErrorKind::config, fmt::format("{} is not a dslaunch plugin: {}", path, dlerror()));
  }
  const Plugin& plugin = *entry();
  if (std::string_view(plugin.build) != build_tag()) {
    throw Error(ErrorKind::config,
                fmt::format("{} and this program were built from different sources ({} and {})",
                            path, plugin.build, build_tag()),
                "build and install both together");
  }
  opened() = fmt::format("{} ({})", path, from.reason);
  return plugin;
}

}  // namespace

PluginOrder plugin_order(int driver) {
  if (driver == 0) return {{kName, kName12}, "no NVIDIA driver"};
  std::string reason =
      fmt::format("the driver supports CUDA {}.{}", driver / 1000, driver % 1000 / 10);
  if (driver >= 13000) return {{kName, kName12}, std::move(reason)};
  return {{kName12, kName}, std::move(reason)};
}

const std::string& opened_plugin() { return opened(); }

const Plugin& open_cuda_plugin() {
  static const Plugin& plugin = open_plugin();  // after a throw, the next call tries again
  return plugin;
}

}  // namespace ds
