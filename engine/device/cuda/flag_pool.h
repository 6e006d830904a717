// FlagPool: words that host threads write and CUDA streams wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/device.h"

namespace ds::cuda {

/// One word in a cache line of its own, in pinned memory. It counts up and may wrap at 2^32.
struct Flag {
  alignas(64) std::atomic<std::uint32_t> reached{0};
};

/// Threads: only the issuing thread takes and returns flags.
class FlagPool {
 public:
  Flag* take();
  void give_back(Flag* flag);

 private:
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Flag*> free_;
};

}  // namespace ds::cuda
