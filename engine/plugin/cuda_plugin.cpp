// The entry of libdsengine_cuda.so.
#include "engine/comm/nccl/nccl_collectives.h"
#include "engine/device/cuda/describe.h"
#include "engine/plugin/build_tag.h"
#include "engine/plugin/plugin.h"

extern "C" [[gnu::visibility("default")]] const ds::Plugin* dsengine_plugin() {
  static const ds::Plugin plugin{.build = ds::build_tag(),
                                 .report = ds::cuda::report,
                                 .device_count = ds::cuda::device_count,
                                 .make_collectives = ds::comm::make_nccl_collectives};
  return &plugin;
}
