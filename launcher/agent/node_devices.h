// The GPUs that programs on this node may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct NodeDevices {
  std::vector<std::string> names;  // as CUDA_VISIBLE_DEVICES would name them
  bool limited = false;            // the environment says which; else all that there are
};

/// From the environment, else from the device files of the driver.
NodeDevices find_devices();

/// The entries of a CUDA_VISIBLE_DEVICES; those behind a negative one do not count. Pure.
std::vector<std::string> split_visible_devices(std::string_view text);

}  // namespace ds::launcher
