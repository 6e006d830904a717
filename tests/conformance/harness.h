// Shared parts of the conformance tests: buffers, random values and the one table of tolerances.
// Tests hold their values on the host, heads by_head; Bench runs ops in the backend's memory.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/bench.h"
#include "engine/kernels/kernels.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"
#include "reference/ops.h"

namespace ds::conformance {

using reference::Values;

/// Memory with a type, convertible to and from double-precision values.
class Buffer {
 public:
  Buffer(DType dtype, Shape shape)
      : dtype_(dtype),
        shape_(shape),
        bytes_(static_cast<std::size_t>(shape.elements() * size_of(dtype)) + 64, std::byte{0xFF}) {}

  /// Returns a buffer of values rounded to the type; values() returns what the backend will see.
  static Buffer of(DType dtype, Shape shape, const Values& values) {
    Buffer buffer(dtype, shape);
    REQUIRE(static_cast<std::size_t>(shape.elements()) == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<float>(values[i]);
      const std::uint16_t half = dtype == DType::bf16 ? bf16_from_float(x) : f16_from_float(x);
      if (dtype == DType::f32) {
        std::memcpy(buffer.data() + 4 * i, &x, 4);
      } else {
        std::memcpy(buffer.data() + 2 * i, &half, 2);
      }
    }
    return buffer;
  }

  [[nodiscard]] std::byte* data() {
    return bytes_.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 64) % 64;
  }
  Tensor tensor() { return {data(), dtype_, shape_}; }
  ConstTensor view() { return {data(), dtype_, shape_}; }
  Values values() {
    Values out(static_cast<std::size_t>(shape_.elements()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      float x = 0;
      std::uint16_t half = 0;
      if (dtype_ == DType::f32) {
        std::memcpy(&x, data() + 4 * i, 4);
      } else {
        std::memcpy(&half, data() + 2 * i, 2);
        x = dtype_ == DType::bf16 ? float_from_bf16(half) : float_from_f16(half);
      }
      out[i] = static_cast<double>(x);
    }
    return out;
  }
  /// Returns the bytes, for bit-for-bit comparison.
  std::string bits() {
    return {reinterpret_cast<const char*>(data()),
            static_cast<std::size_t>(shape_.elements() * size_of(dtype_))};
  }

 private:
  DType dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

/// Returns numbers uniform in [-1, 1), the same everywhere.
inline Values random_values(std::size_t n, std::uint64_t seed, double scale = 1) {
  Values values(n);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (double& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = scale * (static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return values;
}
inline Buffer random_buffer(DType dtype, Shape shape, std::uint64_t seed, double scale = 1) {
  return Buffer::of(dtype, shape,
                    random_values(static_cast<std::size_t>(shape.elements()), seed, scale));
}

/// Returns the tolerance per type for a whole tensor: |got - want| / |want| in the Euclidean norm.
/// f32:  products of K <= 4096 random terms lose about eps * sqrt(K) / 2 = 2^-24 * 32 = 2e-6 of
///       their norm, and exp and the norms a few ulp more: 5e-6.
/// bf16: a result rounded to 8 bits has a uniform error of at most 2^-9, or 2^-9 / sqrt(3) = 1.1e-3
///       of its norm. Softmax probabilities and their gradients are also rounded before they are
///       multiplied, each adding as much again in quadrature, and pre-activations pass through
///       GELU's slope: 6e-3.
/// f16:  three bits more than bf16, so an eighth of it: 2^-12 per rounding. (For results of size 1,
///       values below 2^-14 have no more bits, but vanish in the norm.)
/// f32 on an accelerator: tensor cores sum products of 16-bit values. They truncate a running sum
///       instead of rounding it, by at most 2^-23 of it each time, always towards zero, and add 16
///       products at a time: K = 2600 terms lose at most 163 * 2^-23 = 1.9e-5.
inline double tolerance(DType dtype) {
  const double f32 = on_accelerator() ? 2e-5 : 5e-6;
  return dtype == DType::f32 ? f32 : dtype == DType::bf16 ? 6e-3 : 6e-3 / 8;
}

inline constexpr DType kActTypes[] = {DType::f32, DType::bf16, DType::f16};

inline double relative_error(const Values& got, const Values& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

inline void check_close(const char* what, Buffer& got, const Values& want, DType act) {
  CAPTURE(what);
  const double error = relative_error(got.values(), want);
  CHECK(std::isfinite(error));
  CHECK(error <= tolerance(act));
}

/// Calls `body(subject, act)` for every backend and activation type.
template <class Body>
void for_each_subject(Body body) {
  for (const Subject& subject : subjects()) {
    for (const DType act : kActTypes) {
      CAPTURE(subject.name);
      CAPTURE(name_of(act));
      body(subject, act);
    }
  }
}

}  // namespace ds::conformance
