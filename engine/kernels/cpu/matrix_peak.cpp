// The yardstick of the progress line: what this machine's matrix units give, now, for products that
// fit in cache.
#include <chrono>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/product.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kDepth = 768;
constexpr int kProductsPerTask = 8;
constexpr auto kSpan = std::chrono::milliseconds(200);

}  // namespace

double measure_matrix_peak(const Context& c, DType type) {
  using Clock = std::chrono::steady_clock;
  const Operand operand = c.operand(type);
  const std::int64_t bytes = c.pack(type).element_bytes;
  const TileProduct& product = c.products.prepare(operand, kTileRows, kDepth);
  // Own memory, given back at once: the peak is measured outside of steps.
  const std::int64_t each =
      (kTileRows + kPanel) * kDepth * bytes + kTileRows * kPanel * 4 + kOneDnnScratchBytes;
  std::vector<std::byte> memory(static_cast<std::size_t>(each * c.pool.size() + 64));
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) /
                                            64 * 64);
  const auto body = [&](std::int64_t, int thread) {
    std::byte* mine = base + thread * each;
    std::byte* panel = mine + kTileRows * kDepth * bytes;
    std::byte* tile = panel + kPanel * kDepth * bytes;
    for (int i = 0; i < kProductsPerTask; ++i) {
      product.run(mine, panel, reinterpret_cast<float*>(tile), tile + kTileRows * kPanel * 4,
                  thread);
    }
  };
  const std::int64_t tasks = 4 * c.pool.size();
  const double flops =
      2.0 * kTileRows * kPanel * kDepth * kProductsPerTask * static_cast<double>(tasks);
  double best = 0;
  c.pool.parallel_for(tasks, body);
  for (const auto end = Clock::now() + kSpan; Clock::now() < end;) {
    const auto start = Clock::now();
    c.pool.parallel_for(tasks, body);
    best = std::max(best, flops / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace ds::cpu
