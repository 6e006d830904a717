// Which CUDA device a rank takes, and the one clear message for each way of having none.
#include "engine/device/cuda/device_choice.h"

#include <doctest/doctest.h>

using ds::cuda::choose_device;
using ds::cuda::VisibleDevices;

namespace {

VisibleDevices devices(int count, std::optional<std::string> variable = {}) {
  return {.driver = 13000, .runtime = 13000, .count = count, .variable = std::move(variable)};
}

std::string said(const VisibleDevices& visible, int local_rank, int local_ranks = 1) {
  const auto chosen = choose_device(visible, local_rank, local_ranks);
  const auto* const error = std::get_if<ds::Error>(&chosen);
  REQUIRE(error != nullptr);
  CHECK(error->kind() == ds::ErrorKind::config);
  return error->for_people();
}

}  // namespace

TEST_CASE("the local rank picks; a rank that sees one device of its own takes it") {
  CHECK(std::get<int>(choose_device(devices(4), 3, 4)) == 3);
  CHECK(std::get<int>(choose_device(devices(1, "GPU-7a1b"), 3, 4)) == 0);
}

TEST_CASE("more ranks than devices: how many are visible, by which variable, which rank asked") {
  // Local rank 0 has one, and says it: it is the one that speaks for its node.
  CHECK(said(devices(2, "0,1"), 0, 3) ==
        "3 ranks on this node need a GPU each (this is local rank 0), but 2 are visible "
        "(CUDA_VISIBLE_DEVICES=0,1)\n  hint: start at most 2 ranks on this node");
  CHECK(said(devices(1), 1) ==
        "2 ranks on this node need a GPU each (this is local rank 1), but 1 is visible\n"
        "  hint: start at most 1 rank on this node");
}

TEST_CASE("no driver, an old driver, no device, a driver that fails: each is said") {
  CHECK(said({.driver = 0, .runtime = 13000}, 0).find("no NVIDIA driver is installed") !=
        std::string::npos);
  const std::string old = said({.driver = 12080, .runtime = 13000}, 0);
  CHECK(old.find(
            "the NVIDIA driver is too old: it supports CUDA 12.8, but this program needs 13.0") ==
        0);
  CHECK(old.find("580 or later") != std::string::npos);
  // A driver of the same major version runs what a newer toolkit built.
  CHECK(std::get<int>(choose_device({.driver = 13000, .runtime = 13010, .count = 1}, 0, 1)) == 0);
  CHECK(said(devices(0, ""), 0).find("no CUDA device is visible (CUDA_VISIBLE_DEVICES=)") == 0);
  VisibleDevices broken = devices(0);
  broken.failure = "system not yet initialized";
  CHECK(said(broken, 0).find("no CUDA device: system not yet initialized") == 0);
}

TEST_CASE("compute capability 8.0 is the least") {
  CHECK(!ds::cuda::check_capability("NVIDIA A100", 8, 0));
  CHECK(!ds::cuda::check_capability("NVIDIA B200", 10, 0));
  const auto error = ds::cuda::check_capability("Tesla V100", 7, 0);
  REQUIRE(error);
  CHECK(std::string(error->what()).find("Tesla V100 has compute capability 7.0") == 0);
}

TEST_CASE("the driver's release in both forms of /proc/driver/nvidia/version") {
  CHECK(ds::cuda::driver_release("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed "
                                 "Aug 27 17:19:57 UTC 2025\nGCC version: gcc 12.2.0\n") ==
        "580.82.07");
  CHECK(ds::cuda::driver_release("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                 "580.65.06  Release Build  (root)\n") == "580.65.06");
  CHECK(ds::cuda::driver_release("").empty());
}
