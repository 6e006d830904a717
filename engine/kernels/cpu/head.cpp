// The LM head: logits, loss and gradient in chunks of rows, so that the full logits never exist.
#include <algorithm>
#include <cstring>

#include "engine/kernels/cpu/few_rows.h"
#include "engine/kernels/cpu/head_layout.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/scalar_log.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kRowsPerTask = 8;
constexpr std::int64_t kElementsPerTask = 16 << 10;

/// One chunk of rows: [first, first + count).
class Chunk {
 public:
  Chunk(const Context& c, const HeadLoss& a, const HeadDimensions& d, const HeadScratch& s,
        std::int64_t first)
      : c_(c),
        a_(a),
        d_(d),
        s_(s),
        act_(c.act(d.type)),
        first_(first),
        count_(std::min(d.chunk, d.rows - first)) {}

  void compute_logits() {
    Product product = d_.logits_product(count_);
    product.a.data = input();
    product.b.data = a_.weight.data;
    run_product(product, [&](const Tile& tile, int) {
      // A slice is a whole number of panels, so a tile never crosses slices.
      const std::int64_t s = tile.column / kHeadSlice, width = d_.slice_width(s);
      void* to = at(slice(s), d_.type, tile.row * width + tile.column % kHeadSlice);
      act_.store_tile(tile.data, tile.rows, tile.columns, {.out = to, .stride = width});
    });
  }

  /// Computes the losses of the rows. If `scale` is not zero, the same pass over memory turns the
  /// logits into gradients.
  void softmax(float scale) {
    c_.pool.parallel_for(ceil_div(count_, kRowsPerTask), [&](std::int64_t task, int) {
      const std::int64_t begin = task * kRowsPerTask;
      for (std::int64_t r = begin; r < std::min(begin + kRowsPerTask, count_); ++r)
        softmax_row(r, scale);
    });
  }

  /// Adds the losses in row order, so the result always has the same bits.
  void add_losses(double& loss, std::int64_t& counted) const {
    for (std::int64_t r = 0; r < count_; ++r) {
      if (target(r) < 0) continue;
      loss += s_.losses[r];
      ++counted;
    }
  }

  void input_gradient(void* din) {
    for (std::int64_t s = 0; s < d_.slices(); ++s) {
      Product product = d_.input_product(count_, s);
      product.a.data = slice(s);
      product.b.data = at(a_.weight.data, d_.type, s * kHeadSlice * d_.width);
      run_product(product, [&](const Tile& tile, int) {
        c_.vector.add_tile(tile.data, tile.rows, tile.columns,
                           s_.din + tile.row * d_.width + tile.column, d_.width, s > 0);
      });
    }
    const std::int64_t n = count_ * d_.width;
    c_.pool.parallel_for(ceil_div(n, kElementsPerTask), [&](std::int64_t task, int) {
      const std::int64_t from = task * kElementsPerTask,
                         size = std::min(kElementsPerTask, n - from);
      void* to = at(din, d_.type, first_ * d_.width + from);
      act_.from_f32(s_.din + from, to, size);
    });
  }

  void weight_gradient(float* dweight, bool accumulate) {
    for (std::int64_t s = 0; s < d_.slices(); ++s) {
      Product product = d_.weight_product(count_, s);
      product.a.data = slice(s);
      product.b.data = input();
      run_product(product, [&](const Tile& tile, int) {
        c_.vector.add_tile(tile.data, tile.rows, tile.columns,
                           dweight + (s * kHeadSlice + tile.row) * d_.width + tile.column, d_.width,
                           accumulate || first_ > 0);
      });
    }
  }

 private:
  [[nodiscard]] const void* input() const { return at(a_.in.data, d_.type, first_ * d_.width); }
  [[nodiscard]] std::int32_t target(std::int64_t r) const {
    return static_cast<const std::int32_t*>(a_.targets.data)[first_ + r];
  }
  [[nodiscard]] std::byte* slice(std::int64_t s) const {
    return s_.logits + s * kHeadSlice * count_ * size_of(d_.type);
  }
  template <class Sink>
  void run_product(const Product& product, Sink sink) {
    Scratch scratch(s_.products, s_.product_bytes);
    const ProductScratch pieces(scratch, c_, product);
    multiply(c_, product, pieces, sink);
  }
  [[nodiscard]] float read(const void* p) const {
    float value = 0;
    act_.to_f32(p, &value, 1);
    return value;
  }
  void write(void* p, float value) const { act_.from_f32(&value, p, 1); }

  void softmax_row(std::int64_t r, float scale) {
    const std::int32_t wanted = target(r);
    DS_ASSERT(wanted < a_.valid_vocab);
    float largest = 0, sum = 0, logit = 0;
    if (wanted >= 0) {
      row_statistics(r, &largest, &sum);
      const std::int64_t s = wanted / kHeadSlice;
      logit = read(row_of(s, r, wanted % kHeadSlice));
      s_.losses[r] = static_cast<double>(largest) + scalar_log(static_cast<double>(sum)) -
                     static_cast<double>(logit);
    }
    if (scale == 0.0F) return;
    const auto lse =
        static_cast<float>(static_cast<double>(largest) + scalar_log(static_cast<double>(sum)));
    for (std::int64_t s = 0; s < d_.slices(); ++s) {
      const std::int64_t width = d_.slice_width(s);
      const std::int64_t valid =
          wanted < 0 ? 0 : std::clamp<std::int64_t>(a_.valid_vocab - s * kHeadSlice, 0, width);
      std::byte* row = row_of(s, r, 0);
      if (valid > 0) act_.logits_gradient(row, valid, lse, scale);
      std::memset(row + valid * size_of(d_.type), 0,
                  static_cast<std::size_t>((width - valid) * size_of(d_.type)));
    }
    if (wanted < 0) return;
    // (p - 1) * scale from p in f32: the rounded product above would lose the difference near
    // p = 1.
    const float p =
        static_cast<float>(exp_of(static_cast<double>(logit) - static_cast<double>(lse)));
    write(row_of(wanted / kHeadSlice, r, wanted % kHeadSlice), (p - 1.0F) * scale);
  }

  /// Returns e^x by the vector kernel: a row of one logit, whose "gradient" is e^(x - 0) * 1.
  [[nodiscard]] float exp_of(double x) const {
    float value = static_cast<float>(x);
    c_.vector.f32.logits_gradient(&value, 1, 0.0F, 1.0F);
    return value;
  }

  /// All slices but the last valid one are whole and equally far apart.
  void row_statistics(std::int64_t r, float* largest, float* sum) const {
    const std::int64_t whole = a_.valid_vocab / kHeadSlice * kHeadSlice,
                       rest = a_.valid_vocab - whole;
    if (whole > 0) {
      act_.logits_row(row_of(0, r, 0), kHeadSlice * count_, kHeadSlice, whole, largest, sum);
    }
    if (rest == 0) return;
    float last_largest = 0, last_sum = 0;
    act_.logits_row(row_of(whole / kHeadSlice, r, 0), 0, rest, rest, &last_largest, &last_sum);
    if (whole == 0) {
      *largest = last_largest;
      *sum = last_sum;
      return;
    }
    const float top = std::max(*largest, last_largest);
    *sum = *sum * exp_of(static_cast<double>(*largest - top)) +
           last_sum * exp_of(static_cast<double>(last_largest - top));
    *largest = top;
  }

  [[nodiscard]] std::byte* row_of(std::int64_t s, std::int64_t r, std::int64_t column) const {
    return slice(s) + (r * d_.slice_width(s) + column) * size_of(d_.type);
  }

  const Context& c_;
  const HeadLoss& a_;
  const HeadDimensions& d_;
  const HeadScratch& s_;
  const ActKernels& act_;
  std::int64_t first_, count_;
};

template <class Body>
void for_chunks(const Context& c, const HeadLoss& a, Body body) {
  const HeadDimensions d(a);
  Scratch scratch = c.scratch();
  const HeadScratch pieces(scratch, c, d);
  double loss = 0;
  std::int64_t counted = 0;
  for (std::int64_t first = 0; first < d.rows; first += d.chunk) {
    Chunk chunk(c, a, d, pieces, first);
    chunk.compute_logits();
    body(chunk);
    chunk.add_losses(loss, counted);
  }
  *static_cast<double*>(a.loss.data) = loss;
  *static_cast<std::int64_t*>(a.count.data) = counted;
}

// Every row of the weights is read once, for all rows of the input.
void few_logits(const Context& c, const Logits& a, std::int64_t rows) {
  const std::int64_t width = a.weight.shape[1], vocab = a.weight.shape[0];
  const DType type = a.in.dtype;
  const ActKernels& act = c.act(type);
  auto* const out = static_cast<float*>(a.out.data);
  c.pool.parallel_for(ceil_div(vocab, kPanel), [&](std::int64_t task, int) {
    const std::int64_t first = task * kPanel;
    for (std::int64_t v = first; v < std::min(first + kPanel, vocab); ++v) {
      for (std::int64_t r = 0; r < rows; ++r) {
        out[r * vocab + v] = act.dot(at(a.in.data, type, r * width),
                                     at(a.weight.data, type, v * width), width);
      }
    }
  });
}

}  // namespace

template <>
void run(const Context& c, const HeadLoss& a) {
  for_chunks(c, a, [](Chunk& chunk) { chunk.softmax(0.0F); });
}

template <>
void run(const Context& c, const HeadLossBackward& a) {
  DS_ASSERT(a.loss_scale != 0.0F);
  for_chunks(c, a.forward, [&](Chunk& chunk) {
    chunk.softmax(a.loss_scale);
    // The weight gradient comes first: it reads `in`, and `din` may share that memory.
    chunk.weight_gradient(static_cast<float*>(a.dweight.data), a.accumulate);
    chunk.input_gradient(a.din.data);
  });
}

template <>
void run(const Context& c, const Logits& a) {
  const std::int64_t width = a.weight.shape[1], vocab = a.weight.shape[0];
  const std::int64_t rows = a.in.elements() / width;
  if (rows <= kFewRows) return few_logits(c, a, rows);
  const Product product{.m = rows,
                        .n = vocab,
                        .k = width,
                        .type = a.in.dtype,
                        .a = {a.in.data, width, false},
                        .b = {a.weight.data, width, true}};
  auto* out = static_cast<float*>(a.out.data);
  Scratch scratch = c.scratch();
  const ProductScratch pieces(scratch, c, product);
  multiply(c, product, pieces, [&](const Tile& tile, int) {
    c.vector.add_tile(tile.data, tile.rows, tile.columns, out + tile.row * vocab + tile.column,
                      vocab, false);
  });
}

std::size_t head_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.vocab == 0 || e.chunk_rows == 0) return 0;
  Scratch scratch;
  const HeadScratch pieces(scratch, c, HeadDimensions(e));
  return scratch.used();
}

}  // namespace ds::cpu
