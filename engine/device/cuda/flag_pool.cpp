// FlagPool: pins flags a thousand at a time, because pinning memory is slow.
#include "engine/device/cuda/flag_pool.h"

#include <new>

#include "engine/device/cuda/pinned_memory.h"

namespace ds::cuda {

Flag* FlagPool::take() {
  if (free_.empty()) {
    constexpr std::size_t kFlags = 1024;
    arenas_.push_back(make_pinned_arena(kFlags * sizeof(Flag)));
    std::byte* const data = arenas_.back()->data();
    for (std::size_t i = 0; i < kFlags; ++i) free_.push_back(new (data + i * sizeof(Flag)) Flag);
  }
  Flag* const flag = free_.back();
  free_.pop_back();
  return flag;
}

void FlagPool::give_back(Flag* flag) { free_.push_back(flag); }

}  // namespace ds::cuda
