// What a backend in a library of its own gives: found and opened at run time, so that one dsrunner
// starts on machines with and without an accelerator.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/rendezvous.h"
#include "engine/kernels/kernels.h"

namespace ds {

struct AcceleratorOptions {
  int local_rank = 0;       // picks the device
  int local_ranks = 1;      // of this node: each needs a device of its own
  std::string cache_dir{};  // of chosen algorithms; empty: none is kept
  /// GELU and bias gradients inside the library's products (device.epilogues); Gelu(pre) is then
  /// not what Linear's epilogue gave.
  bool fused_epilogues = false;
};

/// The library's one exported function, dsengine_plugin(), returns it. Both sides are built
/// together: `build` says from which sources, and others are refused.
struct Plugin {
  const char* build = "";
  /// For people, one line an item: driver, runtime, devices, libraries found or missing and where
  /// they were looked for. Never throws.
  std::string (*report)() = nullptr;
  int (*device_count)() = nullptr;  // 0 where there is no driver
  /// Without host_kernels. Errors: Error{config}: no such device, too old a driver, a missing
  /// library; each with what was found and what to do.
  Backend (*make_backend)(const AcceleratorOptions& options) = nullptr;
  /// What its kernels will ask for as scratch: pure, for plans of machines that have the device.
  std::size_t (*workspace_bytes)(const Kernels::Extents& extents) = nullptr;
  /// Groups whose operations run on the device's streams and memory. `host` carries what the
  /// members must tell each other first, and outlives the result. Errors: Error{comm}.
  std::unique_ptr<Collectives> (*make_collectives)(Device& device, Collectives& host) = nullptr;
};

/// Opens the library once: $DSLAUNCH_CUDA_PLUGIN, else libdsengine_cuda.so beside the program, else
/// in
/// ../lib of it. Errors: Error{config} naming the paths tried and the dynamic loader's reason.
const Plugin& open_cuda_plugin();

}  // namespace ds
