// IEEE half precision with integers: conversion that rounds to nearest, ties to even. Denormals are
// kept, numbers that are too large become infinite. Same bits as F16C.
#pragma once

#include <bit>
#include <cstdint>

namespace ds {

constexpr std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const auto with_sign = [&](std::uint32_t x) { return static_cast<std::uint16_t>(sign | x); };
  if (magnitude > 0x7F800000U) return with_sign(0x7E00U | ((magnitude >> 13) & 0x1FFU));  // quiet
  if (magnitude >= 0x477FF000U) return with_sign(0x7C00U);  // 65520: halfway to the next number
  std::uint32_t significand = magnitude, shift = 13;
  if (magnitude < 0x38800000U) {  // below 2^-14: a multiple of 2^-24
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;  // below 2^-25, half of the smallest number
    significand = (magnitude & 0x007FFFFFU) | 0x00800000U;
    shift = 126 - exponent;
  } else {
    significand -= 0x38000000U;  // the exponent's bias: 127 - 15
  }
  const std::uint32_t below = (1U << (shift - 1)) - 1 + ((significand >> shift) & 1U);
  return with_sign((significand + below) >> shift);
}

constexpr float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) {  // infinite or NaN (made quiet)
    const std::uint32_t quiet = magnitude > 0x7C00U ? 0x00400000U : 0U;
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13) | quiet);
  }
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  const float value = static_cast<float>(magnitude) * 0x1p-24F;
  return sign != 0 ? -value : value;
}

}  // namespace ds
