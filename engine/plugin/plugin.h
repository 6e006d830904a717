// Plugin: the interface of a backend in a library of its own, found and opened at run time, so that
// one dsrunner runs on machines with and without an accelerator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/rendezvous.h"
#include "engine/kernels/kernels.h"

namespace ds {

struct AcceleratorOptions {
  int local_rank = 0;       // selects the device
  int local_ranks = 1;      // of this node: each needs a device of its own
  std::string cache_dir{};  // for chosen algorithms; empty: none are stored
  /// Computes GELU and bias gradients inside the library's products (device.epilogues).
  /// Activate(pre) then differs from the result of Linear's epilogue.
  bool fused_epilogues = false;
};

/// The result of the library's one exported function, dsengine_plugin(). Program and library must
/// be built together: `build` identifies the sources, and a mismatch is refused.
struct Plugin {
  const char* build = "";
  /// Describes driver, runtime, devices and libraries (found, or missing and where they were
  /// searched), one line per item, for people. Never throws.
  std::string (*report)() = nullptr;
  int (*device_count)() = nullptr;  // 0 without a driver
  /// Creates a backend without host_kernels. Errors: Error{config}: no such device, a driver that
  /// is too old, a missing library; each with what was found and what to do.
  Backend (*make_backend)(const AcceleratorOptions& options) = nullptr;
  /// Returns the scratch that its kernels need. Pure, so that plans do not need the device.
  std::size_t (*workspace_bytes)(const Kernels::Extents& extents) = nullptr;
  /// Creates groups whose operations run on the device's streams and memory. `host` carries the
  /// members' first exchange and must outlive the result. Errors: Error{comm}.
  std::unique_ptr<Collectives> (*make_collectives)(Device& device, Collectives& host) = nullptr;
};

/// The plugins in the order in which they are tried, and why.
struct PluginOrder {
  std::vector<std::string> names;
  std::string reason;
};
/// Returns libdsengine_cuda.so (CUDA 13) first, or libdsengine_cuda12.so if the driver supports
/// only CUDA 12. `driver`: as cuDriverGetVersion() counts; 0: no driver. Pure.
PluginOrder plugin_order(int driver);

/// Opens the library once: $DSLAUNCH_CUDA_PLUGIN, else the first of plugin_order() beside the
/// program or in ../lib. Errors: Error{config} naming the paths tried and the dynamic loader's
/// reason.
const Plugin& open_cuda_plugin();

/// Returns the path of the opened plugin and why it was chosen: "/opt/lib/libdsengine_cuda12.so
/// (the driver supports CUDA 12.4)". After open_cuda_plugin().
const std::string& opened_plugin();

}  // namespace ds
