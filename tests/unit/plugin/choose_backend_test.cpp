// device.backend = auto, cpu, cuda: what each comes to.
#include "engine/plugin/choose_backend.h"

#include <doctest/doctest.h>

using ds::cache_folder;
using ds::choose_backend;

TEST_CASE("auto takes CUDA where the plugin sees a device, and says why it does not") {
  CHECK(choose_backend("auto", {.devices = 2}).backend == "cuda");
  CHECK(choose_backend("auto", {.devices = 2}).reason.empty());
  const ds::BackendChoice none = choose_backend("auto", {.devices = 0});
  CHECK(none.backend == "cpu");
  CHECK(none.reason == "no CUDA device");
  const ds::BackendChoice closed = choose_backend("auto", {.trouble = "it cannot be opened"});
  CHECK(closed.backend == "cpu");
  CHECK(closed.reason == "it cannot be opened");
}

TEST_CASE("what was asked for is taken as it is") {
  CHECK(choose_backend("cpu", {.devices = 2}).backend == "cpu");
  CHECK(choose_backend("cuda", {.devices = 0}).backend == "cuda");  // and fails with a clear error
}

TEST_CASE("fused epilogues are CUDA's alone") {
  ds::check_keys_of_backend({.backend = "cpu"});
  ds::check_keys_of_backend({.backend = "cuda", .epilogues = ds::Epilogues::fused});
  try {
    ds::check_keys_of_backend({.backend = "cpu", .epilogues = ds::Epilogues::fused});
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    const std::string what = error.what();
    CHECK(what.find("device.epilogues = \"fused\"") != std::string::npos);
    CHECK(what.find("device.backend = \"cpu\"") != std::string::npos);
  }
}

TEST_CASE("the CPU is always there") {
  const ds::Backend backend = ds::make_backend({.backend = "cpu", .threads = 1}, 7);
  CHECK(backend.device->is_host());
  CHECK(!backend.host_kernels);
}

TEST_CASE("the folder of chosen algorithms") {
  CHECK(cache_folder("/own", "/xdg", "/home/ada") == "/own");
  CHECK(cache_folder("", "/xdg", "/home/ada").empty());
  CHECK(cache_folder(nullptr, "/xdg", "/home/ada") == "/xdg/dslaunch");
  CHECK(cache_folder(nullptr, "relative", "/home/ada") == "/home/ada/.cache/dslaunch");
  CHECK(cache_folder(nullptr, nullptr, nullptr).empty());
}
