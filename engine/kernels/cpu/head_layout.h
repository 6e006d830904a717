// Sizes, products and scratch of the LM head, which processes one chunk of rows at a time.
#pragma once

#include <algorithm>

#include "engine/kernels/cpu/product.h"
#include "engine/kernels/kernels.h"

namespace ds::cpu {

// A chunk's logits are stored as slices of this many columns, each dense (rows, width), so that the
// backward products use a slice as an operand without a copy. Arithmetic: the input gradient is
// summed slice by slice, so this value decides its bits.
inline constexpr std::int64_t kHeadSlice = 2048;

struct HeadDimensions {
  std::int64_t rows, width, vocab, chunk;
  DType type;

  explicit HeadDimensions(const HeadLoss& a)
      : rows(a.targets.elements()),
        width(a.weight.shape[1]),
        vocab(a.weight.shape[0]),
        chunk(std::clamp<std::int64_t>(a.chunk_rows, 1, std::max<std::int64_t>(rows, 1))),
        type(a.in.dtype) {
    DS_ASSERT(a.in.elements() == rows * width && a.chunk_rows > 0);
    DS_ASSERT(a.valid_vocab > 0 && a.valid_vocab <= vocab);
    DS_ASSERT(!a.bias || a.bias.elements() == vocab);
  }
  explicit HeadDimensions(const Kernels::Extents& e)
      : rows(e.micro * e.seq_len),
        width(e.width),
        vocab(e.vocab),
        chunk(std::min(e.chunk_rows, rows)),
        type(e.act) {}

  [[nodiscard]] std::int64_t slices() const { return ceil_div(vocab, kHeadSlice); }
  [[nodiscard]] std::int64_t slice_width(std::int64_t s) const {
    return std::min(kHeadSlice, vocab - s * kHeadSlice);
  }
  [[nodiscard]] Product logits_product(std::int64_t count) const {
    return {.m = count,
            .n = vocab,
            .k = width,
            .type = type,
            .a = {nullptr, width, false},
            .b = {nullptr, width, true}};
  }
  [[nodiscard]] Product input_product(std::int64_t count, std::int64_t s) const {
    return {.m = count,
            .n = width,
            .k = slice_width(s),
            .type = type,
            .a = {nullptr, slice_width(s), false},
            .b = {nullptr, width, false}};
  }
  [[nodiscard]] Product weight_product(std::int64_t count, std::int64_t s) const {
    return {.m = slice_width(s),
            .n = width,
            .k = count,
            .type = type,
            .a = {nullptr, slice_width(s), true},
            .b = {nullptr, width, false}};
  }
};

struct HeadScratch {
  std::byte* logits;
  double* losses;
  std::int32_t* rows;  // those that count
  float* din;
  std::byte* gathered;  // a chunk's input rows: dead when `din`, in the same memory, is written
  std::byte* products;
  std::size_t product_bytes;

  HeadScratch(Scratch& scratch, const Context& c, const HeadDimensions& d) {
    logits = scratch.take<std::byte>(d.chunk * d.vocab * size_of(d.type));
    losses = scratch.take<double>(d.chunk);
    rows = scratch.take<std::int32_t>(d.rows);
    din = scratch.take<float>(d.chunk * d.width);
    gathered = reinterpret_cast<std::byte*>(din);
    product_bytes = 0;
    const auto measure = [&](const Product& product) {
      Scratch s;
      const ProductScratch pieces(s, c, product);
      product_bytes = std::max(product_bytes, s.used());
    };
    measure(d.logits_product(d.chunk));
    for (const std::int64_t s : {std::int64_t{0}, d.slices() - 1}) {
      measure(d.input_product(d.chunk, s));
      measure(d.weight_product(d.chunk, s));
    }
    products = scratch.take<std::byte>(static_cast<std::int64_t>(product_bytes));
  }
};

}  // namespace ds::cpu
