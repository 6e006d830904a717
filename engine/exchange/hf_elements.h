// Elements of a Hugging Face folder's tensors: loaded as floats, transposed, averaged, checked.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "engine/exchange/hf_tensors.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Calls `action(load)`, where load(i) is element i of `data` as a float.
template <class Action>
void with_loader(DType dtype, const std::uint8_t* data, const Action& action) {
  const auto half = [data](std::int64_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, data + 2 * i, sizeof(bits));
    return bits;
  };
  if (dtype == DType::bf16) {
    action([half](std::int64_t i) { return float_from_bf16(half(i)); });
  } else if (dtype == DType::f16) {
    action([half](std::int64_t i) { return float_from_f16(half(i)); });
  } else {
    action([data](std::int64_t i) {
      float value = 0;
      std::memcpy(&value, data + 4 * i, sizeof(value));
      return value;
    });
  }
}

/// Copies rows [row, end) of a transposed part to `to`, where our row `row` begins; square by
/// square, since theirs are columns.
template <class Load>
void turn(const HfTensor& t, const Load& load, std::int64_t row, std::int64_t end, float* to) {
  constexpr std::int64_t kSide = 64;  // so that lines and pages are used whole
  constexpr std::int64_t kApart =
      80;  // of rows of a square, so that its columns share no cache set
  for (; row < end; row += kSide, to += kSide * t.our_columns) {
    const std::int64_t rows = std::min(kSide, end - row);
    for (std::int64_t column = 0; column < t.columns; column += kSide) {
      const std::int64_t columns = std::min(kSide, t.columns - column);
      float square[kSide][kApart];
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < rows; ++r)
          square[c][r] = load((column + c) * t.rows + row + r);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          to[r * t.our_columns + t.first_column + column + c] = square[c][r];
    }
  }
}

/// Returns the mean of the rows of a matrix that is stored as ours is.
template <class Load>
std::vector<float> mean_row(const HfTensor& t, const Load& load) {
  std::vector<double> sums(static_cast<std::size_t>(t.columns));
  for (std::int64_t row = 0; row < t.rows; ++row)
    for (std::int64_t column = 0; column < t.columns; ++column)
      sums[static_cast<std::size_t>(column)] += static_cast<double>(load(row * t.columns + column));
  std::vector<float> mean(sums.size());
  std::ranges::transform(sums, mean.begin(), [&](double sum) {
    return static_cast<float>(sum / static_cast<double>(t.rows));
  });
  return mean;
}

/// Returns whether no element is a NaN or infinite. One pass that compilers vectorize.
inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kInfinite = 0x7F800000, kSign = 0x80000000;
  std::uint32_t largest = 0;
  for (const float x : values)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & ~kSign);
  return largest < kInfinite;
}

}  // namespace ds
