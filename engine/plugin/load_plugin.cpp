// Finds and opens the plugin.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "engine/library/open_library.h"
#include "engine/plugin/plugin.h"

namespace ds {
namespace {

constexpr const char *kName = "libdsengine_cuda.so", *kName12 = "libdsengine_cuda12.so";
constexpr const char* kVariable = "DSLAUNCH_CUDA_PLUGIN";

/// Returns the newest CUDA that the driver supports: 12040; 0 without a driver.
int driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto read = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  return read != nullptr && read(&version) == 0 ? version : 0;
}

bool is_given() {
  const char* const path = std::getenv(kVariable);
  return path != nullptr && *path != '\0';
}

std::string& opened() {
  static std::string text;
  return text;
}

const Plugin& open_plugin() {
  const PluginOrder order =
      is_given() ? PluginOrder{{}, kVariable} : plugin_order(driver_version());
  const OpenedLibrary library = open_library(
      {.name = fmt::format("the CUDA backend ({})", kName),
       .files = order.names,
       .variable = kVariable,
       .entry = "dsengine_plugin",
       .hint = fmt::format("build it where nvcc is installed (DS_CUDA=on), set {} to its path, or "
                           "set device.backend = \"cpu\"",
                           kVariable)});
  const Plugin& plugin = *reinterpret_cast<const Plugin* (*)()>(library.entry)();
  require_same_build(library.path, plugin.build);
  opened() = fmt::format("{} ({})", library.path, order.reason);
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
