// Entry point of libdsengine_cuda.so.
#include <cstdlib>
#include <string_view>

#include "engine/comm/nccl/nccl_collectives.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/describe.h"
#include "engine/device/cuda/libraries.h"
#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/library/build_tag.h"
#include "engine/plugin/plugin.h"

namespace {

/// Returns whether a test of single operations, which has no config, requests fused epilogues.
bool asked_to_fuse() {
  const char* const asked = std::getenv("DSLAUNCH_CUDA_EPILOGUES");
  return asked != nullptr && std::string_view(asked) == "fused";
}

/// Creates the device first: it becomes the calling thread's current one.
ds::Backend make_backend(const ds::AcceleratorOptions& options) {
  ds::Backend backend;
  backend.device = ds::cuda::make_cuda_device(options.local_rank, options.local_ranks);
  backend.kernels =
      ds::cuda::make_cuda_kernels(options.cache_dir, options.fused_epilogues || asked_to_fuse());
  if (options.local_ranks > 1) ds::cuda::nccl_library();  // fails before ranks wait for each other
  return backend;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const ds::Plugin* dsengine_plugin() {
  static const ds::Plugin plugin{.build = ds::build_tag(),
                                 .report = ds::cuda::report,
                                 .device_count = ds::cuda::device_count,
                                 .make_backend = make_backend,
                                 .workspace_bytes = ds::cuda::workspace_bytes,
                                 .make_collectives = ds::comm::make_nccl_collectives};
  return &plugin;
}
