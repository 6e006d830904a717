// Settings to TileFilesSpec, rates to text.
#include "engine/train/state_files.h"

#include <array>

#include "engine/base/error.h"

namespace ds {
namespace {

/// All sections that use files use the same folders (resolve_memory.cpp).
const std::vector<std::string>& folders_of(const OffloadConfig& config) {
  if (config.optimizer.device == OffloadDevice::nvme) return config.optimizer.paths;
  return config.param.device == OffloadDevice::nvme ? config.param.paths : config.grad.paths;
}

}  // namespace

std::unique_ptr<TileFiles> open_state_files(const OffloadConfig& config, int rank,
                                            std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr std::array kEngines{TileEngine::automatic, TileEngine::uring, TileEngine::threads};
  try {
    return TileFiles::open({.folders = folders_of(config),
                            .bytes = bytes,
                            .engine = kEngines[static_cast<std::size_t>(config.io.engine)],
                            .block = config.io.block,
                            .depth = static_cast<int>(config.io.depth),
                            .checksum = config.io.checksum,
                            .rank = rank,
                            .label = "offloaded state"});
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
