// A matrix product as the operations state it, row-major, and the key under which what was found
// out about it is kept. Pure: no CUDA here.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace ds::cuda {

/// What is done to a product before it is rounded.
enum class ProductEpilogue : std::uint8_t {
  none,
  bias,        // + extra (n), of the result's type
  gelu_slope,  // * gelu_tanh'(extra), extra as out, 16 bits
  gelu,        // second = the product, as out, 16 bits; out = gelu_tanh of it before it is rounded
  bias_gelu,   // the same of the product + extra
  column_sums  // second (n) in f32 = the sums of b's columns, whatever is done to out
};

/// Row-major memory; transposed: the product reads it the other way round.
struct ProductOperand {
  const void* data = nullptr;
  std::int64_t row_length = 0;  // elements from one row in memory to the next
  bool transposed = false;
};

/// out (m, n) (+)= a (m, k) * b (k, n), sums in f32.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  DType type = DType::f32, out_type = DType::f32;
  ProductOperand a, b;
  void* out = nullptr;
  std::int64_t out_row_length = 0;
  bool accumulate = false;
  ProductEpilogue epilogue = ProductEpilogue::none;
  const void* extra = nullptr;
  void* second = nullptr;  // what the epilogue writes beside out
};

/// All that the choice of an algorithm may depend on, in numbers. Whether the result is added to
/// what is there does not matter.
struct ProductKey {
  static constexpr std::size_t kNumbers = 15;
  std::array<std::int64_t, kNumbers> numbers{};
  friend auto operator<=>(const ProductKey&, const ProductKey&) = default;

  /// Numbers with blanks between.
  [[nodiscard]] std::string text() const;
};

/// The largest power of two, up to 16, that divides the address.
std::int64_t alignment_of(const void* data);

/// Alignments count up to 16 bytes, the widest load: beyond it, where memory lies must not decide
/// about bits.
ProductKey key_of(const Product& product, std::int64_t workspace_bytes);

/// For people: "bf16 512 x 768 x 3072 NT + bias".
std::string describe(const Product& product);

}  // namespace ds::cuda
