// Tests of IEEE halves: ties to even, denormals, overflow to infinity, and NaN that stays NaN.
#include "engine/tensor/f16.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <initializer_list>

using ds::f16_from_float;
using ds::float_from_f16;

TEST_CASE("every half converts to float and back unchanged, with the value of its fields") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_from_f16(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31U),
              fraction = static_cast<int>(bits & 1023U);
    if (exponent == 31 && fraction != 0) {
      CHECK(std::isnan(value));
      CHECK(std::isnan(float_from_f16(f16_from_float(value))));
      continue;
    }
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? HUGE_VAL
                                         : std::ldexp(1024 + fraction, exponent - 25);
    const bool right = static_cast<double>(std::abs(value)) == size &&
                       std::signbit(value) == (bits >= 0x8000U) && f16_from_float(value) == bits;
    if (!right) FAIL_CHECK(bits);
  }
}

TEST_CASE("between two neighbors the nearer one wins, halfway the even one") {
  for (std::uint16_t low = 0; low < 0x7C00; ++low) {
    const double below = static_cast<double>(float_from_f16(low));
    const double above = low == 0x7BFF ? 65536.0 : static_cast<double>(float_from_f16(low + 1));
    const auto middle = static_cast<float>((below + above) / 2);
    const auto high = static_cast<std::uint16_t>(low + 1);  // after the largest number: infinity
    const std::uint16_t even = low % 2 == 0 ? low : high;
    const bool right = f16_from_float(middle) == even &&
                       f16_from_float(std::nextafter(middle, 0.0F)) == low &&
                       f16_from_float(std::nextafter(middle, HUGE_VALF)) == high &&
                       f16_from_float(-middle) == (even | 0x8000U);
    if (!right) FAIL_CHECK(low);
  }
}

TEST_CASE("too large numbers become infinite, too small ones become zero with their sign") {
  CHECK(f16_from_float(65504.0F) == 0x7BFF);
  CHECK(f16_from_float(65520.0F) == 0x7C00);
  CHECK(f16_from_float(3e38F) == 0x7C00);
  CHECK(f16_from_float(-HUGE_VALF) == 0xFC00);
  CHECK(f16_from_float(0x1p-25F) == 0);
  CHECK(f16_from_float(-0x1p-149F) == 0x8000);
  for (const std::uint32_t nan : {0x7F800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0xFF800001U}) {
    CHECK(std::isnan(float_from_f16(f16_from_float(std::bit_cast<float>(nan)))));
  }
}
