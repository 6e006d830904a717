// Words that host threads write and CUDA streams wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/device.h"

namespace ds::cuda {

/// One word in a cache line of its own, in pinned memory. It counts up, past 2^32 too.
struct Flag {
  alignas(64) std::atomic<std::uint32_t> reached{0};
};

/// Threads: the issuing one alone takes and gives back.
class FlagPool {
 public:
  Flag* take();
  void give_back(Flag* flag);

 private:
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Flag*> free_;
};

}  // namespace ds::cuda
