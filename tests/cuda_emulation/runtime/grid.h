// run_grid(): runs a kernel, blocks one after another, the threads of a block as fibers.
#pragma once

#define DS_EMULATION_MUTABLE
#include <cstdint>
#include <string>

#include "emulation/block.h"
#include "emulation/launch.h"

namespace emulation {

/// A small, fast generator; the same seed gives the same orders.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

struct GridShape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

/// Largest dynamic shared memory that run_grid() supports.
inline constexpr std::size_t kSharedBytes = 232448;  // compute capability 9.0

/// Runs all threads of all blocks in orders that `random` picks. Returns a description of a fault
/// or of a barrier that not all threads reached; empty if none. Threads: one caller at a time.
std::string run_grid(const GridShape& shape, const KernelCall& call, Random& random);

}  // namespace emulation
