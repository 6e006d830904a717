// Column ops: row by row, in f32.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/kernels/cpu/norm_blocks.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kRowsPerTask = 32;
constexpr std::int64_t kBlock = 256;  // elements that are f32 at the same time

/// Where the columns of a row lie: runs of `depth` elements, one per head or one per row.
struct Runs {
  explicit Runs(const AddColumns& a) {
    const Shape& shape = a.in.shape;
    if (!a.heads) {
      depth = shape[1];
      return;
    }
    batch = shape[1];
    time = shape[3];
    depth = shape[4];
    const bool grouped = shape[0] == 1;
    heads = grouped ? shape[2] - 2 * a.kv_heads : shape[2];
    groups = grouped ? a.kv_heads : heads;
    count = heads + 2 * groups;
  }

  /// Returns the first element of a row's run.
  [[nodiscard]] std::int64_t at(std::int64_t row, std::int64_t run) const {
    if (batch == 0) return row * depth;
    const std::int64_t first = run < heads ? 0 : run < heads + groups ? heads : heads + groups;
    const std::int64_t together = run < heads ? heads : groups;
    const std::int64_t place = batch * first + row / time * together + run - first;
    return (place * time + row % time) * depth;
  }

  std::int64_t depth = 0, count = 1;
  std::int64_t batch = 0, time = 0, heads = 0, groups = 0;  // batch = 0: rows
};

/// to = from + scale * delta
void add_scaled(const ActKernels& act, DType type, const void* from, const void* delta, void* to,
                std::int64_t n, float scale) {
  std::array<float, kBlock> x{}, y{};
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = std::min(kBlock, n - i);
    act.to_f32(at(from, type, i), x.data(), count);
    act.to_f32(at(delta, type, i), y.data(), count);
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) x[k] += scale * y[k];
    act.from_f32(x.data(), at(to, type, i), count);
  }
}

}  // namespace

template <>
void run(const Context& c, const AddColumns& a) {
  const Runs runs(a);
  const DType type = a.in.dtype;
  const std::int64_t rows = a.in.elements() / (runs.depth * runs.count);
  DS_ASSERT(a.out.dtype == type && a.out.elements() == a.in.elements());
  for (const AddColumns::Part& part : a.parts)
    DS_ASSERT(!part.delta || (part.delta.shape[0] == rows && part.delta.dtype == type));
  const ActKernels& act = c.act(type);
  const auto add_part = [&](std::int64_t row, const AddColumns::Part& part) {
    const std::int64_t n = part.delta.shape[1];
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t column = part.first + done, run = column / runs.depth;
      const std::int64_t inside = column % runs.depth;
      const std::int64_t count = std::min(runs.depth - inside, n - done);
      void* const to = at(a.out.data, type, runs.at(row, run) + inside);
      add_scaled(act, type, to, at(part.delta.data, type, row * n + done), to, count, a.scale);
      done += count;
    }
  };
  in_pieces(c, rows, kRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t run = 0; a.in.data != a.out.data && run < runs.count; ++run) {
        const std::int64_t place = runs.at(row, run);
        std::memcpy(at(a.out.data, type, place), at(a.in.data, type, place),
                    static_cast<std::size_t>(runs.depth * size_of(type)));
      }
      for (const AddColumns::Part& part : a.parts)
        if (part.delta) add_part(row, part);
    }
  });
}

template <>
void run(const Context& c, const TakeColumns& a) {
  const DType type = a.in.dtype;
  const std::int64_t rows = a.in.shape[0], width = a.in.shape[1], n = a.out.shape[1];
  DS_ASSERT(a.out.dtype == type && a.out.shape[0] == rows && a.first + n <= width);
  const ActKernels& act = c.act(type);
  in_pieces(c, rows, kRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    std::array<float, kBlock> x{};
    for (std::int64_t row = first; row < first + count; ++row) {
      for (std::int64_t i = 0; i < n; i += kBlock) {
        const std::int64_t size = std::min(kBlock, n - i);
        act.to_f32(at(a.in.data, type, row * width + a.first + i), x.data(), size);
        for (float& value : x) value *= a.scale;
        act.from_f32(x.data(), at(a.out.data, type, row * n + i), size);
      }
    }
  });
}

}  // namespace ds::cpu
