// run_grid(): runs the blocks of a kernel in a random order and provides their shared memory.
#include "grid.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "block_scheduler.h"
#include "memory_faults.h"

namespace emulation {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xA5;

/// The memory behind dynamic_shared<T>(), with guards around the requested size.
class SharedMemory {
 public:
  SharedMemory() {
    memory_ = static_cast<unsigned char*>(std::aligned_alloc(1024, 1024 + kSharedBytes + 1024));
    if (memory_ == nullptr) throw std::bad_alloc();
    data_ = memory_ + 1024;
    std::memset(data_ - kGuard, kGuardByte, kGuard);
  }
  void prepare(std::size_t bytes) {
    dynamic_shared_bytes = data_;
    std::memset(data_, 0xFF, bytes);
    std::memset(data_ + bytes, kGuardByte, kGuard);
  }
  [[nodiscard]] bool intact(std::size_t bytes) const {
    unsigned char differs = 0;
    for (std::size_t i = 0; i < kGuard; ++i) {
      differs |=
          static_cast<unsigned char>((data_[bytes + i] ^ kGuardByte) |
                                     (data_[-1 - static_cast<std::ptrdiff_t>(i)] ^ kGuardByte));
    }
    return differs == 0;
  }

 private:
  unsigned char *memory_ = nullptr, *data_ = nullptr;
};

/// A random valid order of blocks: ascending, descending, or in steps.
class BlockOrder {
 public:
  BlockOrder(std::uint64_t blocks, Random& random) : blocks_(blocks) {
    const std::uint64_t kind = random.below(3);
    if (kind == 1) step_ = blocks_ - 1, at_ = blocks_ - 1;
    if (kind == 2 && blocks_ > 2) {
      at_ = random.below(blocks_);
      do step_ = 1 + random.below(blocks_ - 1);
      while (std::gcd(step_, blocks_) != 1);
    }
  }
  std::uint64_t next() {
    const std::uint64_t block = at_;
    at_ = (at_ + step_) % blocks_;
    return block;
  }

 private:
  std::uint64_t blocks_, step_ = 1, at_ = 0;
};

}  // namespace

std::string run_grid(const GridShape& shape, const KernelCall& call, Random& random) {
  static SharedMemory* const shared = new SharedMemory;
  const std::uint64_t plane = std::uint64_t{shape.grid.x} * shape.grid.y;
  const std::uint64_t blocks = plane * shape.grid.z;
  BlockOrder order(blocks, random);
  const MemoryFaults faults;
  gridDim = shape.grid;
  blockDim = shape.block;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t number = order.next();
    blockIdx = {static_cast<unsigned>(number % shape.grid.x),
                static_cast<unsigned>(number % plane / shape.grid.x),
                static_cast<unsigned>(number / plane)};
    shared->prepare(shape.shared_bytes);
    block().start(shape, call, random);
    block().run();
    if (!block().fault().empty()) {
      block().forget_fibers();
      return block().fault();
    }
    if (!shared->intact(shape.shared_bytes)) {
      return block().place_of(0) + ": its block wrote outside of its " +
             std::to_string(shape.shared_bytes) + " bytes of dynamic shared memory";
    }
  }
  return {};
}

}  // namespace emulation
