// Measures the CPU's peak rate of matrix products that fit in cache, which the progress line
// compares with.
#include <algorithm>
#include <chrono>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/product.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kDepth = 768;
constexpr int kProductsPerTask = 8;
constexpr auto kSpan = std::chrono::milliseconds(200);  // maximum duration
constexpr auto kSettled =
    std::chrono::milliseconds(40);  // stops after this long without a better result
constexpr double kBetter = 1.01;

}  // namespace

double measure_matrix_peak(const Context& c, DType type) {
  using Clock = std::chrono::steady_clock;
  const Operand operand = c.operand(type);
  const std::int64_t bytes = c.pack(type).element_bytes;
  const TileProduct& product = c.products.prepare({operand, kTileRows, kDepth});
  // Memory of its own, freed on return: the peak is measured outside of steps.
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
  const auto end = Clock::now() + kSpan;
  auto settled = Clock::now() + kSettled;
  for (auto start = Clock::now(); start < std::min(end, settled);) {
    c.pool.parallel_for(tasks, body);
    const auto now = Clock::now();
    const double rate = flops / std::chrono::duration<double>(now - start).count();
    if (rate > kBetter * best) settled = now + kSettled;
    best = std::max(best, rate);
    start = now;
  }
  return best;
}

}  // namespace ds::cpu
