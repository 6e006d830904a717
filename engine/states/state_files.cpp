// Converts the settings of [offload] to a TileFilesSpec and measured rates to text.
#include "engine/states/state_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/error.h"

namespace ds {
namespace {

/// Requests in flight per folder for a checkpoint's writer: enough to keep it busy, few enough not
/// to delay training.
constexpr int kSaverDepth = 4;

/// Returns the folders. All sections that use files use the same ones (resolve_memory.cpp).
const std::vector<std::string>& folders_of(const OffloadConfig& config) {
  if (config.optimizer.device == OffloadDevice::nvme) return config.optimizer.paths;
  return config.param.device == OffloadDevice::nvme ? config.param.paths : config.grad.paths;
}

}  // namespace

std::unique_ptr<TileFiles> open_state_files(const OffloadConfig& config, int rank,
                                            std::int64_t bytes,
                                            std::optional<VersionedFiles::Slots> slots) {
  if (bytes == 0) return nullptr;
  const auto depth = static_cast<int>(config.io.depth);
  constexpr std::array kEngines{TileEngine::automatic, TileEngine::uring, TileEngine::threads};
  try {
    auto files = TileFiles::open({.folders = folders_of(config),
                                  .bytes = bytes,
                                  .engine = kEngines[static_cast<std::size_t>(config.io.engine)],
                                  .block = config.io.block,
                                  .depth = depth,
                                  .beside_depth = slots ? std::min(depth, kSaverDepth) : 0,
                                  .checksum = config.io.checksum,
                                  .rank = rank,
                                  .label = "offloaded state"});
    if (!slots) return files;
    return std::make_unique<VersionedFiles>(std::move(files), *std::move(slots));
  } catch (const Error& error) {
    throw error.with_context("offload");
  }
}

std::string measure_state_files(TileFiles& files) {
  const DiskRates rates = files.probe();
  return fmt::format("{}; read {:.2f} GB/s, write {:.2f} GB/s", files.description(),
                     rates.read / 1e9, rates.write / 1e9);
}

}  // namespace ds
