// Opening the plugin: what is said where there is none, and that what was built can be opened.
#include <doctest/doctest.h>

#include <cstdlib>

#include "engine/base/error.h"
#include "engine/plugin/plugin.h"

namespace {

std::string why_not(const char* path) {
  setenv("DSLAUNCH_CUDA_PLUGIN", path, 1);
  try {
    ds::open_cuda_plugin();
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "opened";
}

}  // namespace

TEST_CASE("a plugin that is not there, or is none, is said with path and reason") {
  const std::string missing = why_not("/nonexistent/libdsengine_cuda.so");
  CHECK(missing.find("/nonexistent/libdsengine_cuda.so: cannot open shared object file") !=
        std::string::npos);
  CHECK(missing.find("device.backend = \"cpu\"") != std::string::npos);
  CHECK(why_not("libc.so.6").find("libc.so.6 is not a dslaunch plugin") != std::string::npos);
}

TEST_CASE("the driver decides which plugin is tried first") {
  using Names = std::vector<std::string>;
  const std::string of_13 = "libdsengine_cuda.so", of_12 = "libdsengine_cuda12.so";
  CHECK(ds::plugin_order(0).names == Names{of_13, of_12});
  CHECK(ds::plugin_order(0).reason == "no NVIDIA driver");
  CHECK(ds::plugin_order(13000).names == Names{of_13, of_12});
  CHECK(ds::plugin_order(12040).names == Names{of_12, of_13});
  CHECK(ds::plugin_order(12040).reason == "the driver supports CUDA 12.4");
}

TEST_CASE("the plugin of this build opens with every symbol resolved, and reports") {
  const std::string path = DS_PLUGIN_PATH;
  if (path.empty()) {
    MESSAGE("no plugin in this build (no nvcc)");
    return;
  }
  REQUIRE(why_not(path.c_str()) == "opened");
  const ds::Plugin& plugin = ds::open_cuda_plugin();
  const std::string report = plugin.report();
  CHECK(report.find("runtime: CUDA 1") != std::string::npos);
  CHECK(ds::opened_plugin() == path + " (DSLAUNCH_CUDA_PLUGIN)");
  if (plugin.device_count() > 0) return;
  CHECK(report.find("no CUDA device") != std::string::npos);
  // An exception of the plugin is one of the program's own types.
  try {
    plugin.make_backend({});
    FAIL("a backend without a device");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK(std::string(error.what()).starts_with("no CUDA device"));
  }
}
