// Rules for choosing a device, with their messages.
#include "engine/device/cuda/device_choice.h"

#include <algorithm>
#include <regex>

namespace ds::cuda {
namespace {

constexpr const char* kUseCpu = "set device.backend = \"cpu\" to train without a GPU";

std::string variable_text(const VisibleDevices& visible) {
  return visible.variable ? fmt::format(" (CUDA_VISIBLE_DEVICES={})", *visible.variable)
                          : std::string();
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string why_none(const VisibleDevices& visible) {
  if (visible.driver == 0) return "no CUDA device: no NVIDIA driver is installed";
  // Within one major version, an older driver runs what a newer toolkit built.
  if (visible.driver / 1000 < visible.runtime / 1000) {
    return fmt::format(
        "the NVIDIA driver is too old: it supports CUDA {}, but this program needs {}",
        cuda_version_text(visible.driver), cuda_version_text(visible.runtime / 1000 * 1000));
  }
  if (!visible.failure.empty())
    return fmt::format("no CUDA device{}: {}", variable_text(visible), visible.failure);
  if (visible.count == 0) return fmt::format("no CUDA device is visible{}", variable_text(visible));
  return {};
}

std::variant<int, Error> choose_device(const VisibleDevices& visible, int local_rank,
                                       int local_ranks) {
  if (const std::string why = why_none(visible); !why.empty()) {
    const bool old = visible.driver != 0 && visible.driver / 1000 < visible.runtime / 1000;
    return Error(ErrorKind::config, why,
                 old ? fmt::format("install a driver for CUDA {} (550 or later for 12.4, 580 or "
                                   "later for 13.0), for drivers of CUDA 12 put "
                                   "libdsengine_cuda12.so beside dsrunner, or {}",
                                   visible.runtime / 1000, kUseCpu)
                     : fmt::format("check nvidia-smi and dsrunner --devices, or {}", kUseCpu));
  }
  const int ranks = std::max(local_ranks, local_rank + 1);
  if (ranks <= visible.count) return local_rank;
  const bool own = visible.count == 1 && visible.variable &&
                   std::count(visible.variable->begin(), visible.variable->end(), ',') == 0;
  if (own) return 0;
  return Error(ErrorKind::config,
               fmt::format("{} ranks on this node need a GPU each (this is local rank {}), but {} "
                           "{} visible{}",
                           ranks, local_rank, visible.count, visible.count == 1 ? "is" : "are",
                           variable_text(visible)),
               fmt::format("start at most {} rank{} on this node", visible.count,
                           visible.count == 1 ? "" : "s"));
}

std::optional<Error> check_capability(const std::string& name, int major, int minor) {
  if (major >= 8) return std::nullopt;
  return Error(ErrorKind::config,
               fmt::format("{} has compute capability {}.{}, but 8.0 is needed (A100 or later)",
                           name, major, minor),
               kUseCpu);
}

std::string driver_release(const std::string& text) {
  static const std::regex form(R"((^|\s)(\d{3,}\.\d+(\.\d+)?)(\s|$))");
  std::smatch match;
  return std::regex_search(text, match, form) ? match[2].str() : std::string();
}

}  // namespace ds::cuda
