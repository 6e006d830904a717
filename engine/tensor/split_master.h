// An fp32 number in two halves: its bf16 rounding, and what the rounding took from its bits.
//
// Rounding half away from zero (bf16.h) changes the upper half of the bits by at most one, so what
// is missing fits a signed 16-bit number, and the sum of both gives the bits back exactly; a NaN
// stays one.
#pragma once

#include "engine/tensor/bf16.h"

namespace ds {

constexpr std::int16_t low_half(float master) {
  return static_cast<std::int16_t>(std::bit_cast<std::uint32_t>(master) & 0xFFFFU);
}

constexpr float joined_halves(std::uint16_t weight, std::int16_t low) {
  return std::bit_cast<float>((std::uint32_t{weight} << 16) + static_cast<std::uint32_t>(low));
}

}  // namespace ds
