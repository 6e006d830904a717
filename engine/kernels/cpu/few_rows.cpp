#include "engine/kernels/cpu/few_rows.h"

#include <cstring>

namespace ds::cpu {
namespace {

// Each part sums some rows of the weights, which are one piece of memory. The number of parts
// limits the threads; the sums of parts are traffic beside the weights.
constexpr std::int64_t kMostParts = 32, kLeastDepth = 64, kTogether = 4;

std::int64_t depth_of_part(std::int64_t k) {
  return std::max(kLeastDepth, round_up(ceil_div(k, kMostParts), kTogether));
}

}  // namespace

FewRowsScratch::FewRowsScratch(Scratch& scratch, const Context& context, const Product& largest) {
  const std::int64_t rows = std::min(largest.m, kFewRows);
  in = scratch.take<float>(rows * largest.k);
  parts = scratch.take<float>(ceil_div(largest.k, depth_of_part(largest.k)) * rows * largest.n);
  tiles = scratch.take<float>(context.pool.size() * kFewRows * kPanel);
}

void multiply_few(const Context& c, const Product& p, const FewRowsScratch& s, TileSink sink) {
  DS_ASSERT(p.m <= kFewRows && !p.a.transposed && !p.b.transposed && p.a.stride == p.k);
  const ActKernels& act = c.act(p.type);
  act.to_f32(p.a.data, s.in, p.m * p.k);
  const std::int64_t depth = depth_of_part(p.k), parts = ceil_div(p.k, depth), all = p.m * p.n;
  c.pool.parallel_for(parts, [&](std::int64_t part, int) {
    float* const sums = s.parts + part * all;
    std::memset(sums, 0, static_cast<std::size_t>(all) * sizeof(float));
    const std::int64_t end = std::min(p.k, (part + 1) * depth);
    for (std::int64_t k = part * depth; k < end; k += kTogether) {
      for (std::int64_t r = 0; r < p.m; ++r) {
        act.add_products(s.in + r * p.k + k, std::min(kTogether, end - k),
                         at(p.b.data, p.type, k * p.b.stride), p.b.stride, p.n, sums + r * p.n);
      }
    }
  });
  c.pool.parallel_for(ceil_div(p.n, kPanel), [&](std::int64_t panel, int thread) {
    float* const data = s.tiles + thread * kFewRows * kPanel;
    const std::int64_t column = panel * kPanel, columns = std::min(kPanel, p.n - column);
    for (std::int64_t r = 0; r < p.m; ++r) {
      const std::int64_t first = r * p.n + column;
      c.vector.sum_parts(s.parts, parts, all, first, columns, s.parts, false);
      std::memcpy(data + r * kPanel, s.parts + first,
                  static_cast<std::size_t>(columns) * sizeof(float));
    }
    sink({.data = data, .row = 0, .rows = p.m, .column = column, .columns = columns}, thread);
  });
}

}  // namespace ds::cpu
