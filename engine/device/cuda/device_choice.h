// Which CUDA device a rank takes, and what is said when it can have none. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "engine/base/error.h"

namespace ds::cuda {

/// What the runtime and the environment say.
struct VisibleDevices {
  int driver = 0;   // the newest CUDA that the driver can run: 13000; 0: there is no driver
  int runtime = 0;  // the CUDA that we were built with: 13000
  int count = 0;
  std::string failure{};                  // of counting them; empty: none
  std::optional<std::string> variable{};  // CUDA_VISIBLE_DEVICES
};

/// "13.0" of 13000.
std::string cuda_version_text(int version);

/// Why there is no device at all, for people; empty when there is one.
std::string why_none(const VisibleDevices& visible);

/// The device of one of a node's ranks: that of its number, or the only one when
/// CUDA_VISIBLE_DEVICES gives this rank one of its own. Too few for all are too few for each: every
/// rank says the same.
std::variant<int, Error> choose_device(const VisibleDevices& visible, int local_rank,
                                       int local_ranks);

/// Our kernels run from compute capability 8.0 on.
std::optional<Error> check_capability(const std::string& name, int major, int minor);

/// "580.82.07" of the text of /proc/driver/nvidia/version; empty when it holds none.
std::string driver_release(const std::string& text);

}  // namespace ds::cuda
