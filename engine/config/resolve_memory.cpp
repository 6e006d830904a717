// Fills defaults and finds contradictions in [zero] and [offload.*].
#include "engine/config/resolve_sections.h"

namespace ds {
namespace {

constexpr std::int64_t kDirectBlock = 4096;  // alignment that O_DIRECT requires

std::string_view word(OffloadDevice device) {
  return device == OffloadDevice::nvme ? "nvme" : "cpu";
}

void need_stage_3(std::string_view key, OffloadDevice device, const ZeroConfig& zero,
                  const GivenKeys& given) {
  if (device == OffloadDevice::none || zero.stage == 3) return;
  throw given.error(
      {key, "zero.stage"},
      fmt::format("{} = \"{}\" needs zero.stage = 3, not {}", key, word(device), zero.stage),
      "below stage 3 every rank computes with whole weights and gradients; set zero.stage = 3, or "
      "offload the optimizer only");
}

void need_paths(std::string_view section, OffloadDevice device,
                const std::vector<std::string>& paths, const GivenKeys& given) {
  if (device != OffloadDevice::nvme || !paths.empty()) return;
  throw given.error({fmt::format("{}.device", section)},
                    fmt::format("{0}.device = \"nvme\" needs {0}.paths", section),
                    "name a folder on every NVMe drive: paths = [\"/mnt/nvme0/offload\"]");
}

/// The other offload sections use the optimizer's folders unless they name their own.
void share_paths(std::vector<std::string>& paths, OffloadDevice device,
                 const OptimizerOffload& optimizer) {
  if (device == OffloadDevice::nvme && paths.empty()) paths = optimizer.paths;
}

/// A rank has one set of files for everything that it stores on drives.
void need_same_paths(const OffloadConfig& offload, const GivenKeys& given) {
  struct Section {
    std::string_view name;
    OffloadDevice device;
    const std::vector<std::string>& paths;
  };
  const Section sections[] = {
      {"offload.optimizer", offload.optimizer.device, offload.optimizer.paths},
      {"offload.param", offload.param.device, offload.param.paths},
      {"offload.grad", offload.grad.device, offload.grad.paths}};
  const Section* first = nullptr;
  for (const Section& section : sections) {
    if (section.device != OffloadDevice::nvme) continue;
    if (first == nullptr) first = &section;
    if (section.paths == first->paths) continue;
    throw given.error({fmt::format("{}.paths", section.name)},
                      fmt::format("{}.paths differs from {}.paths", section.name, first->name),
                      "a rank stripes everything it stores on drives over the same folders; name "
                      "all of them in one list and leave the other list out");
  }
}

/// Weights in files are written by the optimizer's tiles, which must be on the host.
void need_offloaded_states(const OffloadConfig& offload, const GivenKeys& given) {
  const bool on_device = offload.optimizer.device == OffloadDevice::none;
  if (offload.param.device != OffloadDevice::nvme || !on_device) return;
  throw given.error(
      {"offload.param.device"},
      "offload.param.device = \"nvme\" needs offload.optimizer.device = \"cpu\" or "
      "\"nvme\"",
      "the optimizer's state takes 6 times the bytes of the weights: offload it first");
}

void resolve_update(OptimizerOffload& optimizer, const GivenKeys& given) {
  const bool offloaded = optimizer.device != OffloadDevice::none;
  if (optimizer.update == UpdateTime::automatic) {
    optimizer.update = offloaded ? UpdateTime::forward : UpdateTime::after;
  }
  if (!offloaded && optimizer.update != UpdateTime::after) {
    throw given.error({"offload.optimizer.update"},
                      fmt::format("offload.optimizer.update = \"{}\" needs "
                                  "offload.optimizer.device = \"cpu\" or \"nvme\"",
                                  optimizer.update == UpdateTime::forward ? "forward" : "backward"),
                      "set the device, or leave update out");
  }
}

void need_weights_with_the_states(const TrainConfig& config, const GivenKeys& given) {
  if (config.precision.master != MasterWeights::split16) return;
  for (const auto& [key, device] :
       {std::pair{"offload.optimizer.device", config.offload.optimizer.device},
        std::pair{"offload.param.device", config.offload.param.device}}) {
    if (device == OffloadDevice::none) continue;
    throw given.error(
        {"precision.master", key},
        fmt::format("precision.master = \"split16\" cannot be combined with {}", key),
        "the weights are one half of a split16 master; stored apart, they would need a "
        "copy, and no memory would be saved; set precision.master = \"fp32\"");
  }
}

}  // namespace

void resolve_memory(TrainConfig& config, const GivenKeys& given) {
  OffloadConfig& offload = config.offload;
  need_weights_with_the_states(config, given);
  need_stage_3("offload.param.device", offload.param.device, config.zero, given);
  need_stage_3("offload.grad.device", offload.grad.device, config.zero, given);
  share_paths(offload.param.paths, offload.param.device, offload.optimizer);
  share_paths(offload.grad.paths, offload.grad.device, offload.optimizer);
  need_paths("offload.optimizer", offload.optimizer.device, offload.optimizer.paths, given);
  need_paths("offload.param", offload.param.device, offload.param.paths, given);
  need_paths("offload.grad", offload.grad.device, offload.grad.paths, given);
  need_same_paths(offload, given);
  need_offloaded_states(offload, given);
  resolve_update(offload.optimizer, given);
  if (offload.io.block % kDirectBlock != 0) {
    throw given.error({"offload.io.block"},
                      fmt::format("offload.io.block = {} is not a multiple of {}", offload.io.block,
                                  kDirectBlock),
                      "files bypass the page cache and are read and written in whole blocks");
  }
}

}  // namespace ds
