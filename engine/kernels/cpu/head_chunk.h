// HeadChunk: the LM head's work on one chunk of the rows that count.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/kernels/cpu/head_layout.h"
#include "engine/kernels/cpu/norm_blocks.h"
#include "engine/kernels/cpu/scalar_log.h"

namespace ds::cpu {

inline constexpr std::int64_t kHeadRowsPerTask = 8;
// Chunks that leave rows out are padded to it.
inline constexpr std::int64_t kHeadRowMultiple = 32;

/// out = in * scale, rounded once.
inline void scale_row(const Context& c, DType type, const void* in, float scale, void* out,
                      std::int64_t n) {
  constexpr std::int64_t kPiece = 256;
  float piece[kPiece];
  for (std::int64_t i = 0; i < n; i += kPiece) {
    const std::int64_t count = std::min(kPiece, n - i);
    c.act(type).to_f32(at(in, type, i), piece, count);
    for (std::int64_t j = 0; j < count; ++j) piece[j] *= scale;
    c.act(type).from_f32(piece, at(out, type, i), count);
  }
}

/// One chunk of the rows that count: [first, first + taken) of their list. If rows were left out,
/// rows of zeros follow them up to a multiple of kHeadRowMultiple, so that the products of a
/// training have few shapes, each of which oneDNN compiles once.
class HeadChunk {
 public:
  HeadChunk(const Context& c, const HeadLoss& a, const HeadDimensions& d, const HeadScratch& s,
            std::int64_t counted, std::int64_t first)
      : c_(c),
        a_(a),
        d_(d),
        s_(s),
        act_(c.act(d.type)),
        first_(first),
        taken_(std::min(d.chunk, counted - first)),
        count_(counted == d.rows ? taken_ : std::min(d.chunk, round_up(taken_, kHeadRowMultiple))) {
    if (counted == d.rows && a.scale == 1.0F) {
      input_ = at(a.in.data, d.type, first * d.width);
    } else {
      gather();
      input_ = s.gathered;
    }
  }

  void compute_logits() {
    Product product = d_.logits_product(count_);
    product.a.data = input_;
    product.b.data = a_.weight.data;
    run_product(product, [&](const Tile& tile, int) {
      // A slice is a whole number of panels, so a tile never crosses slices.
      const std::int64_t s = tile.column / kHeadSlice, width = d_.slice_width(s);
      void* to = at(slice(s), d_.type, tile.row * width + tile.column % kHeadSlice);
      const void* bias = a_.bias ? at(a_.bias.data, d_.type, tile.column) : nullptr;
      act_.store_tile(tile.data, tile.rows, tile.columns,
                      {.bias = bias, .out = to, .stride = width});
    });
  }

  /// Computes the losses of the rows. If `scale` is not zero, the same pass over memory turns the
  /// logits into gradients.
  void softmax(float scale) {
    c_.pool.parallel_for(ceil_div(count_, kHeadRowsPerTask), [&](std::int64_t task, int) {
      const std::int64_t begin = task * kHeadRowsPerTask;
      for (std::int64_t r = begin; r < std::min(begin + kHeadRowsPerTask, count_); ++r)
        softmax_row(r, scale);
    });
  }

  /// Adds the losses in row order, so the result always has the same bits.
  void add_losses(double& loss) const {
    for (std::int64_t r = 0; r < taken_; ++r) loss += s_.losses[r];
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
    in_pieces(c_, taken_, kHeadRowsPerTask, [&](std::int64_t first, std::int64_t count) {
      float* from = s_.din + first * d_.width;
      if (a_.scale != 1.0F) {
        for (std::int64_t i = 0; i < count * d_.width; ++i) from[i] *= a_.scale;
      }
      for (std::int64_t r = first; r < first + count; ++r, from += d_.width)
        act_.from_f32(from, at(din, d_.type, row(r) * d_.width), d_.width);
    });
  }

  void weight_gradient(float* dweight, bool accumulate) {
    for (std::int64_t s = 0; s < d_.slices(); ++s) {
      Product product = d_.weight_product(count_, s);
      product.a.data = slice(s);
      product.b.data = input_;
      run_product(product, [&](const Tile& tile, int) {
        c_.vector.add_tile(tile.data, tile.rows, tile.columns,
                           dweight + (s * kHeadSlice + tile.row) * d_.width + tile.column, d_.width,
                           accumulate || first_ > 0);
      });
    }
  }

  void bias_gradient(float* dbias, bool accumulate) {
    in_pieces(c_, d_.vocab, kPanel, [&](std::int64_t column, std::int64_t count) {
      const std::int64_t s = column / kHeadSlice;  // whole panels, so a task never crosses slices
      if (!accumulate && first_ == 0)
        std::memset(dbias + column, 0, static_cast<std::size_t>(count) * sizeof(float));
      act_.add_column_sums(row_of(s, 0, column % kHeadSlice), d_.slice_width(s), taken_, count,
                           dbias + column);
    });
  }

 private:
  [[nodiscard]] std::int64_t row(std::int64_t r) const { return s_.rows[first_ + r]; }
  /// Returns the target of the chunk's row r, or -1 for a row of zeros.
  [[nodiscard]] std::int32_t target(std::int64_t r) const {
    return r < taken_ ? static_cast<const std::int32_t*>(a_.targets.data)[row(r)] : -1;
  }
  /// Copies the chunk's rows, times the scale, and adds the rows of zeros.
  void gather() const {
    const std::int64_t row_bytes = d_.width * size_of(d_.type);
    in_pieces(c_, count_, kHeadRowsPerTask, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t r = first; r < first + count; ++r) {
        std::byte* to = s_.gathered + r * row_bytes;
        if (r >= taken_) {
          std::memset(to, 0, static_cast<std::size_t>(row_bytes));
        } else if (a_.scale == 1.0F) {
          std::memcpy(to, at(a_.in.data, d_.type, row(r) * d_.width),
                      static_cast<std::size_t>(row_bytes));
        } else {
          scale_row(c_, d_.type, at(a_.in.data, d_.type, row(r) * d_.width), a_.scale, to,
                    d_.width);
        }
      }
    });
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
  const void* input_ = nullptr;
  std::int64_t first_, taken_, count_;
};

}  // namespace ds::cpu
