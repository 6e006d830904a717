// The LM head: logits, loss and gradient in chunks of the rows that count, so that the full logits
// never exist.
#include <cstring>

#include "engine/kernels/cpu/head_chunk.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kBytesPerTask = 64 << 10;

/// Lists the rows that count, in order, and returns their number.
std::int64_t list_counted(const HeadLoss& a, std::int32_t* rows) {
  const auto* targets = static_cast<const std::int32_t*>(a.targets.data);
  std::int64_t counted = 0;
  for (std::int64_t r = 0; r < a.targets.elements(); ++r)
    if (targets[r] >= 0) rows[counted++] = static_cast<std::int32_t>(r);
  return counted;
}

/// Returns the number of rows that count.
template <class Body>
std::int64_t for_chunks(const Context& c, const HeadLoss& a, Body body) {
  const HeadDimensions d(a);
  Scratch scratch = c.scratch();
  const HeadScratch pieces(scratch, c, d);
  double loss = 0;
  const std::int64_t counted = list_counted(a, pieces.rows);
  for (std::int64_t first = 0; first < counted; first += d.chunk) {
    HeadChunk chunk(c, a, d, pieces, counted, first);
    chunk.compute_logits();
    body(chunk);
    chunk.add_losses(loss);
  }
  *static_cast<double*>(a.loss.data) = loss;
  *static_cast<std::int64_t*>(a.count.data) = counted;
  return counted;
}

void clear(const Context& c, const Tensor& t) {
  auto* data = static_cast<std::byte*>(t.data);
  in_pieces(c, t.bytes(), kBytesPerTask, [&](std::int64_t first, std::int64_t count) {
    std::memset(data + first, 0, static_cast<std::size_t>(count));
  });
}

/// Sets din to 0 where rows do not count.
void clear_uncounted(const Context& c, const HeadLossBackward& a) {
  const std::int64_t rows = a.forward.targets.elements(), row_bytes = a.din.bytes() / rows;
  const auto* targets = static_cast<const std::int32_t*>(a.forward.targets.data);
  in_pieces(c, rows, kHeadRowsPerTask, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r)
      if (targets[r] < 0)
        std::memset(static_cast<std::byte*>(a.din.data) + r * row_bytes, 0,
                    static_cast<std::size_t>(row_bytes));
  });
}

}  // namespace

template <>
void run(const Context& c, const HeadLoss& a) {
  for_chunks(c, a, [](HeadChunk& chunk) { chunk.softmax(0.0F); });
}

template <>
void run(const Context& c, const HeadLossBackward& a) {
  DS_ASSERT(a.loss_scale != 0.0F &&
            static_cast<bool>(a.dbias) == static_cast<bool>(a.forward.bias));
  const std::int64_t counted = for_chunks(c, a.forward, [&](HeadChunk& chunk) {
    chunk.softmax(a.loss_scale);
    // The weight gradient comes first: it reads `in`, and `din` may share that memory.
    chunk.weight_gradient(static_cast<float*>(a.dweight.data), a.accumulate);
    if (a.dbias) chunk.bias_gradient(static_cast<float*>(a.dbias.data), a.accumulate);
    chunk.input_gradient(a.din.data);
  });
  if (counted < a.forward.targets.elements()) clear_uncounted(c, a);
  if (counted > 0 || a.accumulate) return;
  clear(c, a.dweight);
  if (a.dbias) clear(c, a.dbias);
}

template <>
void run(const Context& c, const Logits& a) {
  const std::int64_t width = a.weight.shape[1], vocab = a.weight.shape[0];
  const std::int64_t rows = a.in.elements() / width;
  const DType type = a.in.dtype;
  Product product{.m = rows,
                  .n = vocab,
                  .k = width,
                  .type = type,
                  .a = {a.in.data, width, false},
                  .b = {a.weight.data, width, true}};
  auto* out = static_cast<float*>(a.out.data);
  Scratch scratch = c.scratch();
  if (a.scale != 1.0F) {
    auto* scaled = scratch.take<std::byte>(rows * width * size_of(type));
    scale_row(c, type, a.in.data, a.scale, scaled, rows * width);
    product.a.data = scaled;
  }
  const ProductScratch pieces(scratch, c, product);
  multiply(c, product, pieces, [&](const Tile& tile, int) {
    c.vector.add_tile(tile.data, tile.rows, tile.columns, out + tile.row * vocab + tile.column,
                      vocab, false);
  });
  if (!a.bias) return;
  for (std::int64_t r = 0; r < rows; ++r) c.act(type).add_to(out + r * vocab, a.bias.data, vocab);
}

std::size_t head_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.vocab == 0 || e.chunk_rows == 0) return 0;
  Scratch scratch;
  const HeadScratch pieces(scratch, c, HeadDimensions(e));
  return scratch.used();
}

}  // namespace ds::cpu
