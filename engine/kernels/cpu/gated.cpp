// RMS norm, SwiGLU, rotary embedding and T5's relative position bias.
#include <cmath>
#include <cstring>

#include "engine/kernels/cpu/norm_blocks.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/relative_bucket.h"
#include "engine/kernels/rotary_frequency.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kRowsPerTask = 32;
constexpr std::int64_t kPositionsPerTask = 4;

}  // namespace

template <>
void run(const Context& c, const RmsNorm& a) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  const RmsNormRows args{.in = a.in.data,
                         .delta = a.delta.data,
                         .weight = a.weight.data,
                         .sum = a.sum.data,
                         .out = a.out.data,
                         .rstd = static_cast<float*>(a.rstd.data),
                         .width = width,
                         .eps = a.eps};
  const ActKernels& act = c.act(a.in.dtype);
  in_pieces(c, rows, kRowsPerTask,
            [&](std::int64_t first, std::int64_t count) { act.rms_norm(args, first, count); });
}

template <>
void run(const Context& c, const RmsNormBackward& a) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  const std::int64_t block = norm_block_rows(rows), blocks = ceil_div(rows, block);
  Scratch scratch = c.scratch();
  float* dweights = scratch.take<float>(blocks * width);
  const ActKernels& act = c.act(a.in.dtype);
  c.pool.parallel_for(blocks, [&](std::int64_t i, int) {
    act.rms_norm_backward({.dout = a.dout.data,
                           .in = a.in.data,
                           .weight = a.weight.data,
                           .dresidual = a.dresidual.data,
                           .rstd = static_cast<const float*>(a.rstd.data),
                           .din = a.din.data,
                           .dweight = dweights + i * width,
                           .width = width},
                          i * block, std::min(block, rows - i * block));
  });
  in_pieces(c, width, kNormColumnsPerTask, [&](std::int64_t first, std::int64_t count) {
    c.vector.sum_parts(dweights, blocks, width, first, count, static_cast<float*>(a.dweight.data),
                       a.accumulate);
  });
}

template <>
void run(const Context& c, const SwiGlu& a) {
  const std::int64_t ffn = a.out.shape[1], rows = a.out.shape[0];
  const DType type = a.in.dtype;
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.out.dtype == type);
  in_pieces(c, rows, kRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      c.act(type).swiglu(at(a.in.data, type, 2 * r * ffn), at(a.in.data, type, (2 * r + 1) * ffn),
                         at(a.out.data, type, r * ffn), ffn);
    }
  });
}

template <>
void run(const Context& c, const SwiGluBackward& a) {
  const std::int64_t ffn = a.dout.shape[1], rows = a.dout.shape[0];
  const DType type = a.in.dtype;
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.din.elements() == 2 * rows * ffn);
  in_pieces(c, rows, kRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      const std::int64_t gate = 2 * r * ffn, up = gate + ffn;
      c.act(type).swiglu_backward(at(a.in.data, type, gate), at(a.in.data, type, up),
                                  at(a.dout.data, type, r * ffn), at(a.din.data, type, gate),
                                  at(a.din.data, type, up), ffn);
    }
  });
}

namespace {

/// Memory layout of the heads of one Rotary: queries, then keys, then values.
struct RotaryLayout {
  std::int64_t time, heads, groups, depth, batch;
  bool rows;

  explicit RotaryLayout(const Rotary& a)
      : time(a.seq_len),
        heads(a.heads),
        groups(a.kv_heads == 0 ? a.heads : a.kv_heads),
        depth(a.rows ? a.in.shape[1] / (heads + 2 * groups) : a.in.shape[4]),
        batch(a.in.elements() / (time * (heads + 2 * groups) * depth)),
        rows(a.rows) {
    DS_ASSERT(depth % 2 == 0 && a.in.elements() == a.out.elements());
    DS_ASSERT(a.in.elements() == batch * time * (heads + 2 * groups) * depth);
    DS_ASSERT(!a.positions || a.positions.elements() == batch * time);
  }
  /// Returns the first element of head h, 0 <= h < heads + 2 groups.
  [[nodiscard]] std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    if (rows) return ((b * time + t) * (heads + 2 * groups) + h) * depth;
    const std::int64_t part = h < heads ? 0 : h < heads + groups ? heads : heads + groups;
    const std::int64_t count = h < heads ? heads : groups;
    return (batch * time * part + (b * count + h - part) * time + t) * depth;
  }
};

/// Computes the cosines and sines of the angles of position t.
void fill_angles(const Rotary& a, std::int64_t half, std::int64_t t, const float* rates,
                 float* cosine, float* sine) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(t) * rates[i];
    cosine[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
    sine[i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    if (a.inverse) sine[i] = -sine[i];
  }
}

}  // namespace

template <>
void run(const Context& c, const Rotary& a) {
  const RotaryLayout l(a);
  const ActKernels& act = c.act(a.in.dtype);
  const DType type = a.in.dtype;
  Scratch scratch = c.scratch();
  float* angles = scratch.take<float>(c.pool.size() * l.depth);
  float* rates = scratch.take<float>(l.depth / 2);
  for (std::int64_t i = 0; i < l.depth / 2; ++i) rates[i] = rotary_frequency(a, i, l.depth / 2);
  const auto bytes = static_cast<std::size_t>(l.depth * size_of(type));
  const auto* positions = static_cast<const std::int32_t*>(a.positions.data);
  const auto turn_all = [&](std::int64_t t, float* cosine, float* sine) {
    std::int64_t known = -1;  // the position of the angles; sequences often agree on it
    for (std::int64_t b = 0; b < l.batch; ++b) {
      const std::int64_t now = positions == nullptr ? t : positions[b * l.time + t];
      if (now != known) fill_angles(a, l.depth / 2, now, rates, cosine, sine);
      known = now;
      for (std::int64_t h = 0; h < l.heads + 2 * l.groups; ++h) {
        const void* from = at(a.in.data, type, l.at(b, h, t));
        void* to = at(a.out.data, type, l.at(b, h, t));
        if (h < l.heads + l.groups) {
          act.turn(from, cosine, sine, to, l.depth / 2);
        } else if (from != to) {
          std::memcpy(to, from, bytes);
        }
      }
    }
  };
  c.pool.parallel_for(ceil_div(l.time, kPositionsPerTask), [&](std::int64_t task, int thread) {
    float* cosine = angles + thread * l.depth;
    const std::int64_t first = task * kPositionsPerTask;
    for (std::int64_t t = first; t < std::min(first + kPositionsPerTask, l.time); ++t) {
      turn_all(t, cosine, cosine + l.depth / 2);
    }
  });
}

std::size_t rotary_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  Scratch scratch;
  const std::int64_t depth = e.head_size == 0 ? e.width / e.heads : e.head_size;
  scratch.take<float>(c.pool.size() * depth);
  scratch.take<float>(depth / 2);
  return scratch.used();
}

template <>
void run(const Context& c, const RelativeBias& a) {
  const std::int64_t buckets = a.table.shape[0], heads = a.table.shape[1];
  const std::int64_t distances = a.out.shape[1];
  const std::int64_t queries = a.queries == 0 ? (distances + 1) / 2 : a.queries;
  DS_ASSERT(a.out.shape[0] == heads && queries <= distances);
  const std::int64_t first = a.first ? *static_cast<const std::int32_t*>(a.first.data) : 0;
  const ActKernels& act = c.act(a.table.dtype);
  c.pool.parallel_for(heads, [&](std::int64_t h, int) {
    float* out = static_cast<float*>(a.out.data) + h * distances;
    for (std::int64_t d = 0; d < distances; ++d) {
      const std::int64_t bucket =
          relative_bucket(d - (queries - 1) - first, buckets, a.max_distance, a.bidirectional);
      act.to_f32(at(a.table.data, a.table.dtype, bucket * heads + h), out + d, 1);
    }
  });
}

template <>
void run(const Context& c, const RelativeBiasBackward& a) {
  const std::int64_t buckets = a.dtable.shape[0], heads = a.dtable.shape[1];
  const std::int64_t distances = a.dout.shape[1];
  const std::int64_t queries = a.queries == 0 ? (distances + 1) / 2 : a.queries;
  DS_ASSERT(a.dout.shape[0] == heads && queries <= distances);
  auto* dtable = static_cast<float*>(a.dtable.data);
  c.pool.parallel_for(heads, [&](std::int64_t h, int) {
    const float* dout = static_cast<const float*>(a.dout.data) + h * distances;
    for (std::int64_t bucket = 0; bucket < buckets && !a.accumulate; ++bucket) {
      dtable[bucket * heads + h] = 0;
    }
    for (std::int64_t d = 0; d < distances; ++d) {
      const std::int64_t bucket =
          relative_bucket(d - (queries - 1), buckets, a.max_distance, a.bidirectional);
      dtable[bucket * heads + h] += dout[d];
    }
  });
}

}  // namespace ds::cpu
