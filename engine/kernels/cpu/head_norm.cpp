// RMS norm of each head of queries and of keys, and its gradient.
#include <cmath>
#include <cstring>

#include "engine/kernels/cpu/norm_blocks.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/qkv_layout.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kRowsPerTask = 32;

}  // namespace

template <>
void run(const Context& c, const HeadNorm& a) {
  const QkvLayout l(a.in, a.in.shape[3], a.heads, a.kv_heads, false);
  DS_ASSERT(a.q_weight.elements() == l.depth && a.k_weight.elements() == l.depth);
  const DType type = a.in.dtype;
  // The positions of a head are adjacent.
  const std::int64_t pieces = ceil_div(l.time, kRowsPerTask), all = l.heads + 2 * l.groups;
  c.pool.parallel_for(l.batch * all * pieces, [&](std::int64_t task, int) {
    const std::int64_t t = task % pieces * kRowsPerTask, h = task / pieces % all;
    const std::int64_t count = std::min(kRowsPerTask, l.time - t);
    const std::int64_t first = l.at(task / pieces / all, h, t);
    const void* from = at(a.in.data, type, first);
    void* to = at(a.out.data, type, first);
    if (h >= l.heads + l.groups) {
      if (from != to)
        std::memcpy(to, from, static_cast<std::size_t>(count * l.depth * size_of(type)));
      return;
    }
    c.act(type).rms_norm({.in = from,
                          .delta = nullptr,
                          .weight = h < l.heads ? a.q_weight.data : a.k_weight.data,
                          .sum = nullptr,
                          .out = to,
                          .rstd = nullptr,
                          .width = l.depth,
                          .eps = a.eps},
                         0, count);
  });
}

namespace {

/// Scratch of HeadNormBackward: sums of each block of rows, and one head's part of each thread.
struct HeadNormScratch {
  float *q_sums, *k_sums, *one_head;
  HeadNormScratch(Scratch& scratch, const Context& c, std::int64_t blocks, std::int64_t depth)
      : q_sums(scratch.take<float>(blocks * depth)),
        k_sums(scratch.take<float>(blocks * depth)),
        one_head(scratch.take<float>(c.pool.size() * depth)) {}
};

/// Computes the gradients of all heads of one position, and adds the weights' to `q` and `k`.
/// `one_head`: memory for D elements.
void head_norm_backward_row(const Context& c, const HeadNormBackward& a, const QkvLayout& in,
                            const QkvLayout& rows, std::int64_t row, float* q, float* k,
                            float* one_head) {
  const DType type = a.in.dtype;
  const ActKernels& act = c.act(type);
  const std::int64_t b = row / in.time, t = row % in.time, n = in.depth;
  for (std::int64_t h = 0; h < in.heads + in.groups; ++h) {
    const bool is_query = h < in.heads;
    const void* x = at(a.in.data, type, in.at(b, h, t));
    const std::int64_t there = rows.at(b, h, t);
    const float rstd = 1.0F / std::sqrt(act.dot(x, x, n) / static_cast<float>(n) + a.eps);
    act.rms_norm_backward({.dout = at(a.dout.data, type, there),
                           .in = x,
                           .weight = is_query ? a.q_weight.data : a.k_weight.data,
                           .dresidual = nullptr,
                           .rstd = &rstd,
                           .din = at(a.din.data, type, there),
                           .dweight = one_head,
                           .width = n},
                          0, 1);
    float* sums = is_query ? q : k;
    c.vector.add_f32(sums, one_head, sums, n);
  }
  const std::int64_t values = rows.at(b, in.heads + in.groups, t);
  const void* from = at(a.dout.data, type, values);
  void* to = at(a.din.data, type, values);
  if (from != to) std::memcpy(to, from, static_cast<std::size_t>(in.groups * n * size_of(type)));
}

}  // namespace

template <>
void run(const Context& c, const HeadNormBackward& a) {
  const std::int64_t time = a.in.shape[3];
  const QkvLayout in(a.in, time, a.heads, a.kv_heads, false);
  const QkvLayout in_rows(a.dout, time, a.heads, a.kv_heads, true);
  DS_ASSERT(a.dout.elements() == a.in.elements() && a.din.elements() == a.in.elements());
  const std::int64_t rows = in.batch * time, depth = in.depth;
  const std::int64_t block = norm_block_rows(rows), blocks = ceil_div(rows, block);
  Scratch scratch = c.scratch();
  const HeadNormScratch s(scratch, c, blocks, depth);
  c.pool.parallel_for(blocks, [&](std::int64_t i, int thread) {
    float *q = s.q_sums + i * depth, *k = s.k_sums + i * depth;
    std::fill_n(q, depth, 0.0F);
    std::fill_n(k, depth, 0.0F);
    for (std::int64_t r = i * block; r < std::min((i + 1) * block, rows); ++r)
      head_norm_backward_row(c, a, in, in_rows, r, q, k, s.one_head + thread * depth);
  });
  const auto add_blocks = [&](const float* sums, const Tensor& to) {
    if (!to) return;  // frozen
    c.vector.sum_parts(sums, blocks, depth, 0, depth, static_cast<float*>(to.data), a.accumulate);
  };
  add_blocks(s.q_sums, a.dq_weight);
  add_blocks(s.k_sums, a.dk_weight);
}

std::size_t head_norm_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  // Fewer rows may make more blocks; see layer_norm_scratch_bytes().
  const std::int64_t blocks =
      std::min(kNormBlocks, ceil_div(e.micro * e.seq_len, kSmallestNormBlock));
  Scratch scratch;
  const HeadNormScratch taken(scratch, c, blocks,
                              e.head_size == 0 ? e.width / e.heads : e.head_size);
  return scratch.used();
}

}  // namespace ds::cpu
