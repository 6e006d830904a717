// Embedding, layer norm, GELU's gradient and sums: operations that read memory once.
#include <cstring>

#include "engine/kernels/cpu/norm_blocks.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kRowsPerTask = 32;
constexpr std::int64_t kElementsPerTask = 32 << 10;
constexpr std::int64_t kColumnsPerTask = 64;

/// Returns the row of a table of `time` positions that belongs to row r.
std::int64_t position_of(const ConstTensor& positions, std::int64_t r, std::int64_t time) {
  if (!positions) return r % time;
  const std::int32_t position = static_cast<const std::int32_t*>(positions.data)[r];
  DS_ASSERT(position >= 0 && position < time);
  return position;
}

}  // namespace

template <>
void run(const Context& c, const Embed& a) {
  const std::int64_t width = a.wte.shape[1], rows = a.tokens.elements();
  const std::int64_t time = a.wpe ? a.wpe.shape[0] : 1;
  const auto* tokens = static_cast<const std::int32_t*>(a.tokens.data);
  const ActKernels& act = c.act(a.out.dtype);
  in_pieces(c, rows, kRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      DS_ASSERT(tokens[r] >= 0 && tokens[r] < a.wte.shape[0]);
      const void* from = at(a.wte.data, a.wte.dtype, tokens[r] * width);
      void* to = at(a.out.data, a.out.dtype, r * width);
      if (a.wpe) {
        const std::int64_t position = position_of(a.positions, r, time);
        act.embed_row(from, at(a.wpe.data, a.wpe.dtype, position * width), to, width);
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(width * size_of(a.out.dtype)));
      }
    }
  });
}

template <>
void run(const Context& c, const EmbedBackward& a) {
  const std::int64_t width = a.dwte.shape[1], rows = a.tokens.elements();
  const std::int64_t time = a.dwpe ? a.dwpe.shape[0] : 1;
  const auto* tokens = static_cast<const std::int32_t*>(a.tokens.data);
  auto* dwte = static_cast<float*>(a.dwte.data);
  auto* dwpe = static_cast<float*>(a.dwpe.data);
  const ActKernels& act = c.act(a.dout.dtype);
  const auto clear = [&](float* to, std::int64_t n) {
    in_pieces(c, n, kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
      std::memset(to + first, 0, static_cast<std::size_t>(count) * sizeof(float));
    });
  };
  if (!a.accumulate_wte) clear(dwte, a.dwte.elements());
  if (a.dwpe && !a.accumulate_wpe) clear(dwpe, a.dwpe.elements());
  // Tasks are columns, so each element adds its rows in order with any number of threads.
  in_pieces(c, width, kColumnsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const void* from = at(a.dout.data, a.dout.dtype, r * width + first);
      act.add_to(dwte + tokens[r] * width + first, from, count);
      if (a.dwpe) act.add_to(dwpe + position_of(a.positions, r, time) * width + first, from, count);
    }
  });
}

template <>
void run(const Context& c, const LayerNorm& a) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  const LayerNormRows args{.in = a.in.data,
                           .delta = a.delta.data,
                           .weight = a.weight.data,
                           .bias = a.bias.data,
                           .sum = a.sum.data,
                           .out = a.out.data,
                           .mean = static_cast<float*>(a.mean.data),
                           .rstd = static_cast<float*>(a.rstd.data),
                           .width = width,
                           .eps = a.eps};
  const ActKernels& act = c.act(a.in.dtype);
  in_pieces(c, rows, kRowsPerTask,
            [&](std::int64_t first, std::int64_t count) { act.layer_norm(args, first, count); });
}

template <>
void run(const Context& c, const LayerNormBackward& a) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  const std::int64_t block = norm_block_rows(rows), blocks = ceil_div(rows, block);
  Scratch scratch = c.scratch();
  float* dweights = scratch.take<float>(blocks * width);
  float* dbiases = scratch.take<float>(blocks * width);
  const ActKernels& act = c.act(a.in.dtype);
  c.pool.parallel_for(blocks, [&](std::int64_t i, int) {
    act.layer_norm_backward({.dout = a.dout.data,
                             .in = a.in.data,
                             .weight = a.weight.data,
                             .dresidual = a.dresidual.data,
                             .mean = static_cast<const float*>(a.mean.data),
                             .rstd = static_cast<const float*>(a.rstd.data),
                             .din = a.din.data,
                             .dweight = dweights + i * width,
                             .dbias = dbiases + i * width,
                             .width = width},
                            i * block, std::min(block, rows - i * block));
  });
  in_pieces(c, width, kNormColumnsPerTask, [&](std::int64_t first, std::int64_t count) {
    c.vector.sum_parts(dweights, blocks, width, first, count, static_cast<float*>(a.dweight.data),
                       a.accumulate);
    c.vector.sum_parts(dbiases, blocks, width, first, count, static_cast<float*>(a.dbias.data),
                       a.accumulate);
  });
}

template <>
void run(const Context& c, const Gelu& a) {
  const ActKernels& act = c.act(a.in.dtype);
  DS_ASSERT(a.out.dtype == a.in.dtype && a.out.elements() == a.in.elements());
  in_pieces(c, a.in.elements(), kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
    act.gelu(at(a.in.data, a.in.dtype, first), at(a.out.data, a.out.dtype, first), count);
  });
}

template <>
void run(const Context& c, const GeluBackward& a) {
  const ActKernels& act = c.act(a.pre.dtype);
  in_pieces(c, a.pre.elements(), kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
    act.gelu_backward(at(a.pre.data, a.pre.dtype, first), at(a.dout.data, a.dout.dtype, first),
                      at(a.din.data, a.din.dtype, first), count);
  });
}

template <>
void run(const Context& c, const Add& a) {
  const ActKernels& act = c.act(a.a.dtype);
  in_pieces(c, a.a.elements(), kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
    act.add(at(a.a.data, a.a.dtype, first), at(a.b.data, a.b.dtype, first),
            at(a.out.data, a.out.dtype, first), count);
  });
}

template <>
void run(const Context& c, const Cast& a) {
  in_pieces(c, a.in.elements(), kElementsPerTask, [&](std::int64_t first, std::int64_t count) {
    const void* from = at(a.in.data, a.in.dtype, first);
    void* to = at(a.out.data, a.out.dtype, first);
    if (a.in.dtype == a.out.dtype) {
      std::memmove(to, from, static_cast<std::size_t>(count * size_of(a.in.dtype)));
    } else if (a.in.dtype == DType::f32) {
      c.act(a.out.dtype).from_f32(static_cast<const float*>(from), to, count);
    } else {
      DS_ASSERT(a.out.dtype == DType::f32);
      c.act(a.in.dtype).to_f32(from, static_cast<float*>(to), count);
    }
  });
}

std::size_t layer_norm_scratch_bytes(const Kernels::Extents& e) {
  // Fewer rows may make more blocks (2048 rows: 64, 2049 rows: 63), so the bound does not use the
  // block count of one shape.
  const std::int64_t blocks =
      std::min(kNormBlocks, ceil_div(e.micro * e.seq_len, kSmallestNormBlock));
  Scratch scratch;
  scratch.take<float>(blocks * e.width);
  scratch.take<float>(blocks * e.width);
  return scratch.used();
}

}  // namespace ds::cpu
