// bfloat16, the upper half of a float: conversion with integers, rounding to nearest, half away
// from zero. Denormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace ds {

/// Half away from zero takes one add and makes master weights splittable into two 16-bit halves.
constexpr std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  if (is_nan)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // the add below could turn it into -0
  return static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
}

constexpr float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace ds
