// Splits an fp32 number into two halves: its bf16 rounding, and the difference in bits to it.
//
// Rounding half away from zero (bf16.h) changes the upper half of the bits by at most one. So the
// difference fits a signed 16-bit number, and adding the halves restores the bits exactly; a NaN
// stays a NaN.
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
