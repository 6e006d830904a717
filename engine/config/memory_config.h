// Parts of TrainConfig that decide where bytes are stored, not values: ZeRO, offload, recompute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ds {

/// Value of a count that the plan chooses ("auto").
inline constexpr std::int64_t kAuto = -1;

/// How a group is divided among ranks; tensor: every tensor of a group belongs to one rank.
enum class ShardLayout : std::uint8_t { flat, tensor };

/// Counts are elements, as in DeepSpeed. The smaller bucket cuts groups for all collectives.
struct ZeroConfig {
  std::int64_t stage = 0;
  std::int64_t gather_bucket = 500'000'000;  // or kAuto
  std::int64_t reduce_bucket = 500'000'000;  // or kAuto
  std::int64_t prefetch = 1;                 // gathered ahead of their use; or kAuto
  std::int64_t max_live = 1'000'000'000;     // gathered at one time
  std::int64_t reuse_distance =
      0;  // gathered weights stay if used again within this number of elements
  std::int64_t persist_below = 0;  // smaller groups stay whole on every rank
  bool overlap = true;
  ShardLayout shards = ShardLayout::flat;
  friend bool operator==(const ZeroConfig&, const ZeroConfig&) = default;
};

enum class OffloadDevice : std::uint8_t { none, cpu, nvme };
/// When the tiles of offloaded state are updated. Resolved: forward, or after if not offloaded.
enum class UpdateTime : std::uint8_t { automatic, after, forward, backward };

struct OptimizerOffload {
  OffloadDevice device = OffloadDevice::none;
  std::vector<std::string> paths;  // folders of the NVMe tier, striped
  bool pin = true;
  std::int64_t buffers = 4;     // slots of the ring of tiles
  std::int64_t tile = 4 << 20;  // elements of one tile
  UpdateTime update = UpdateTime::automatic;
  std::int64_t device_share =
      kAuto;  // percent of the tiles in host memory that the device updates; or kAuto
  friend bool operator==(const OptimizerOffload&, const OptimizerOffload&) = default;
};

struct ParamOffload {
  OffloadDevice device = OffloadDevice::none;
  std::vector<std::string> paths;  // resolved: the optimizer's unless given
  bool pin = true;
  std::int64_t buffers = 4;
  friend bool operator==(const ParamOffload&, const ParamOffload&) = default;
};

struct GradOffload {
  OffloadDevice device = OffloadDevice::none;
  std::vector<std::string> paths;  // resolved: the optimizer's unless given
  friend bool operator==(const GradOffload&, const GradOffload&) = default;
};

struct ActivationOffload {
  OffloadDevice device = OffloadDevice::none;  // none or cpu
  friend bool operator==(const ActivationOffload&, const ActivationOffload&) = default;
};

enum class IoEngine : std::uint8_t { automatic, uring, threads };

struct OffloadIo {
  IoEngine engine = IoEngine::automatic;
  std::int64_t block = 1 << 20;  // bytes of one request
  std::int64_t depth = 32;       // requests in flight per path
  bool checksum = true;
  friend bool operator==(const OffloadIo&, const OffloadIo&) = default;
};

struct OffloadConfig {
  OptimizerOffload optimizer;
  ParamOffload param;
  GradOffload grad;
  ActivationOffload activation;
  OffloadIo io;
  friend bool operator==(const OffloadConfig&, const OffloadConfig&) = default;
};

enum class RecomputePolicy : std::uint8_t { none, selective, block, automatic };

struct RecomputeConfig {
  RecomputePolicy policy = RecomputePolicy::none;
  friend bool operator==(const RecomputeConfig&, const RecomputeConfig&) = default;
};

}  // namespace ds
