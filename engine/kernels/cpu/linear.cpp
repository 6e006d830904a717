// Linear layers: forward with its epilogues, input gradient, weight and bias gradients.
#include <algorithm>
#include <cstring>

#include "engine/kernels/cpu/few_rows.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/product.h"

namespace ds::cpu {
namespace {

// Rows (the summed dimension of a weight gradient) per product. Arithmetic: this value must never
// depend on the number of threads.
constexpr std::int64_t kGradientRows = 2048;
constexpr std::int64_t kBiasColumns = 256;  // per task

/// Returns the bias of a tile's columns, or null.
const void* bias_at(const Linear& a, std::int64_t column) {
  return a.bias ? at(a.bias.data, a.bias.dtype, column) : nullptr;
}

/// Writes a tile of (rows, (H + 2G) * D) into heads, split where a head or a sequence ends.
void store_heads(const ActKernels& act, const Tile& tile, const Linear& a) {
  const Shape& shape = a.out.shape;
  const std::int64_t batch = shape[1], time = shape[3], depth = shape[4];
  const bool grouped = shape[0] == 1;
  const std::int64_t heads = grouped ? shape[2] - 2 * a.kv_heads : shape[2];
  const std::int64_t groups = grouped ? a.kv_heads : heads;
  for (std::int64_t c = 0; c < tile.columns;) {
    const std::int64_t column = tile.column + c, head = column / depth, d = column % depth;
    // Memory holds all query heads, then all heads of keys, then of values. `first` is the first
    // head of this kind.
    const std::int64_t first = head < heads ? 0 : head < heads + groups ? heads : heads + groups;
    const std::int64_t together = head < heads ? heads : groups;
    const std::int64_t columns = std::min(tile.columns - c, depth - d);
    for (std::int64_t r = 0; r < tile.rows;) {
      const std::int64_t b = (tile.row + r) / time, t = (tile.row + r) % time;
      const std::int64_t rows = std::min(tile.rows - r, time - t);
      const std::int64_t place = batch * first + b * together + head - first;
      act.store_tile(tile.data + r * kPanel + c, rows, columns,
                     {.bias = bias_at(a, column),
                      .out = at(a.out.data, a.out.dtype, (place * time + t) * depth + d),
                      .stride = depth});
      r += rows;
    }
    c += columns;
  }
}

Product forward_product(DType type, std::int64_t rows, std::int64_t k, std::int64_t n) {
  return {
      .m = rows, .n = n, .k = k, .type = type, .a = {nullptr, k, false}, .b = {nullptr, n, false}};
}
Product input_product(DType type, std::int64_t rows, std::int64_t k, std::int64_t n) {
  return {
      .m = rows, .n = k, .k = n, .type = type, .a = {nullptr, n, false}, .b = {nullptr, n, true}};
}
Product weight_product(DType type, std::int64_t rows, std::int64_t k, std::int64_t n) {
  return {.m = k,
          .n = n,
          .k = std::min(rows, kGradientRows),
          .type = type,
          .a = {nullptr, k, true},
          .b = {nullptr, n, false}};
}

// Below a frozen weight: the bias alone. Tasks are columns, so the order of rows is fixed.
void sum_bias_alone(const Context& c, const LinearBackwardWeight& a) {
  const std::int64_t n = a.dbias.elements(), rows = a.dout.elements() / n;
  auto* dbias = static_cast<float*>(a.dbias.data);
  const ActKernels& act = c.act(a.dout.dtype);
  c.pool.parallel_for(ceil_div(n, kBiasColumns), [&](std::int64_t task, int) {
    const std::int64_t first = task * kBiasColumns, count = std::min(kBiasColumns, n - first);
    if (!a.accumulate)
      std::memset(dbias + first, 0, static_cast<std::size_t>(count) * sizeof(float));
    act.add_column_sums(at(a.dout.data, a.dout.dtype, first), n, rows, count, dbias + first);
  });
}

}  // namespace

template <>
void run(const Context& c, const Linear& a) {
  const std::int64_t k = a.weight.shape[0], n = a.weight.shape[1], rows = a.in.elements() / k;
  DS_ASSERT(a.out.elements() == rows * n && (!a.bias || a.bias.elements() == n));
  DS_ASSERT((a.epilogue == Linear::Epilogue::activation) == static_cast<bool>(a.pre));
  DS_ASSERT(a.activation != Activation::silu);
  Product product = forward_product(a.in.dtype, rows, k, n);
  product.a.data = a.in.data;
  product.b.data = a.weight.data;
  Scratch scratch = c.scratch();
  const ActKernels& act = c.act(a.in.dtype);
  const auto store = [&](const Tile& tile, int) {
    if (a.epilogue == Linear::Epilogue::heads) return store_heads(act, tile, a);
    const std::int64_t to = tile.row * n + tile.column;
    act.store_tile(tile.data, tile.rows, tile.columns,
                   {.bias = bias_at(a, tile.column),
                    .out = at(a.out.data, a.out.dtype, to),
                    .pre = a.pre ? at(a.pre.data, a.pre.dtype, to) : nullptr,
                    .stride = n,
                    .activation = a.activation});
  };
  if (rows <= kFewRows) {
    multiply_few(c, product, FewRowsScratch(scratch, c, product), store);
  } else {
    multiply(c, product, ProductScratch(scratch, c, product), store);
  }
}

template <>
void run(const Context& c, const LinearBackwardInput& a) {
  const std::int64_t k = a.weight.shape[0], n = a.weight.shape[1], rows = a.dout.elements() / n;
  DS_ASSERT(a.din.elements() == rows * k && (!a.pre || a.pre.elements() == rows * k));
  DS_ASSERT(a.activation != Activation::silu);
  Product product = input_product(a.dout.dtype, rows, k, n);
  product.a.data = a.dout.data;
  product.b.data = a.weight.data;
  Scratch scratch = c.scratch();
  const ProductScratch pieces(scratch, c, product);
  const ActKernels& act = c.act(a.dout.dtype);
  multiply(c, product, pieces, [&](const Tile& tile, int) {
    const std::int64_t to = tile.row * k + tile.column;
    act.store_tile(tile.data, tile.rows, tile.columns,
                   {.out = at(a.din.data, a.din.dtype, to),
                    .slope_of = a.pre ? at(a.pre.data, a.pre.dtype, to) : nullptr,
                    .stride = k,
                    .activation = a.activation});
  });
}

template <>
void run(const Context& c, const LinearBackwardWeight& a) {
  if (!a.dweight) return sum_bias_alone(c, a);
  const std::int64_t k = a.dweight.shape[0], n = a.dweight.shape[1], rows = a.in.elements() / k;
  DS_ASSERT(a.dout.elements() == rows * n && rows > 0);
  auto* dweight = static_cast<float*>(a.dweight.data);
  auto* dbias = static_cast<float*>(a.dbias.data);
  Product product = weight_product(a.in.dtype, rows, k, n);
  Scratch scratch = c.scratch();
  const ProductScratch pieces(scratch, c, product);
  const ActKernels& act = c.act(a.in.dtype);
  for (std::int64_t row = 0; row < rows; row += kGradientRows) {
    const bool add = a.accumulate || row > 0;
    product.k = std::min(kGradientRows, rows - row);
    product.a.data = at(a.in.data, a.in.dtype, row * k);
    product.b.data = at(a.dout.data, a.dout.dtype, row * n);
    const auto sum_bias = [&](const PackedPiece& piece) {
      if (dbias == nullptr) return;
      float* to = dbias + piece.column;
      if (!add && piece.k == 0) {
        std::memset(to, 0, static_cast<std::size_t>(piece.columns) * sizeof(float));
      }
      act.add_column_sums(at(product.b.data, product.type, piece.k * n + piece.column), n,
                          piece.depth, piece.columns, to);
    };
    const PanelHook hook(sum_bias);
    multiply(
        c, product, pieces,
        [&](const Tile& tile, int) {
          c.vector.add_tile(tile.data, tile.rows, tile.columns,
                            dweight + tile.row * n + tile.column, n, add);
        },
        &hook);
  }
}

std::size_t linear_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  const std::int64_t rows = e.micro * e.seq_len;
  if (rows == 0 || e.width == 0 || e.ffn == 0) return 0;
  const std::int64_t heads = std::max<std::int64_t>(e.heads, 1);
  const std::int64_t groups = e.kv_heads == 0 ? heads : e.kv_heads;
  const std::int64_t depth = e.head_size == 0 ? e.width / heads : e.head_size;
  const std::int64_t shapes[][2] = {{e.width, (heads + 2 * groups) * depth},
                                    {heads * depth, e.width},
                                    {e.width, e.gated ? 2 * e.ffn : e.ffn},
                                    {e.ffn, e.width}};
  std::size_t largest = 0;
  const auto measure = [&](std::int64_t k, std::int64_t n) {
    for (const auto make : {forward_product, input_product, weight_product}) {
      Scratch scratch;
      const ProductScratch measured(scratch, c, make(e.act, rows, k, n));
      largest = std::max(largest, scratch.used());
    }
    Scratch scratch;
    const FewRowsScratch measured(scratch, c, forward_product(e.act, rows, k, n));
    largest = std::max(largest, scratch.used());
  };
  for (const auto& [k, n] : shapes) {
    measure(k, n);
    if (e.adapter_rank == 0) continue;
    measure(k, e.adapter_rank);
    measure(e.adapter_rank, n);
  }
  return largest;
}

}  // namespace ds::cpu
