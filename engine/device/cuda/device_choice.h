// Chooses a rank's CUDA device, or explains why it has none. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "engine/base/error.h"

namespace ds::cuda {

/// What the runtime and the environment report.
struct VisibleDevices {
  int driver = 0;   // newest CUDA that the driver supports: 13000; 0: no driver
  int runtime = 0;  // CUDA that this program was built with: 13000
  int count = 0;
  std::string failure{};                  // error of counting devices; empty: none
  std::optional<std::string> variable{};  // CUDA_VISIBLE_DEVICES
};

/// Returns "13.0" for 13000.
std::string cuda_version_text(int version);

/// Returns why no device is usable, for people; empty if one is.
std::string why_none(const VisibleDevices& visible);

/// Returns the device of one of a node's ranks: the one with its number, or the only one if
/// CUDA_VISIBLE_DEVICES gives each rank one of its own. If there are too few, every rank returns
/// the same error.
/// rank says the same.
std::variant<int, Error> choose_device(const VisibleDevices& visible, int local_rank,
                                       int local_ranks);

/// Returns an error if the device is below compute capability 8.0, which our kernels need.
std::optional<Error> check_capability(const std::string& name, int major, int minor);

/// Returns the release, such as "580.82.07", from the text of /proc/driver/nvidia/version; empty if
/// there is none.
std::string driver_release(const std::string& text);

}  // namespace ds::cuda
