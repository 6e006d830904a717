// Product: a row-major matrix product as the operations state it, and the key that identifies its
// algorithm. Pure, without CUDA.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace ds::cuda {

/// Operation on a product before it is rounded.
enum class ProductEpilogue : std::uint8_t {
  none,
  bias,        // + extra (n), of the result's type
  gelu_slope,  // * gelu_tanh'(extra), extra as out, 16 bits
  gelu,        // second = the product, as out, 16 bits; out = gelu_tanh of it before it is rounded
  bias_gelu,   // the same for the product + extra
  column_sums  // second (n) in f32 = the sums of b's columns; out is unaffected
};

/// Row-major memory. `transposed`: the product uses its transpose.
struct ProductOperand {
  const void* data = nullptr;
  std::int64_t row_length = 0;  // elements from one row in memory to the next
  bool transposed = false;
};

/// out (m, n) (+)= a (m, k) * b (k, n), summed in f32.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  DType type = DType::f32, out_type = DType::f32;
  ProductOperand a, b;
  void* out = nullptr;
  std::int64_t out_row_length = 0;
  bool accumulate = false;
  ProductEpilogue epilogue = ProductEpilogue::none;
  const void* extra = nullptr;
  void* second = nullptr;  // the epilogue's second output
};

/// Everything that the choice of an algorithm may depend on, as numbers. Accumulation does not
/// matter.
struct ProductKey {
  static constexpr std::size_t kNumbers = 15;
  std::array<std::int64_t, kNumbers> numbers{};
  friend auto operator<=>(const ProductKey&, const ProductKey&) = default;

  /// Returns the numbers separated by spaces.
  [[nodiscard]] std::string text() const;
};

/// Returns the largest power of two, up to 16, that divides the address.
std::int64_t alignment_of(const void* data);

/// Returns the product's key. Alignments are capped at 16 bytes, the widest load: beyond that, the
/// memory's address must not affect bits.
ProductKey key_of(const Product& product, std::int64_t workspace_bytes);

/// Describes the product for people: "bf16 512 x 768 x 3072 NT + bias".
std::string describe(const Product& product);

}  // namespace ds::cuda
