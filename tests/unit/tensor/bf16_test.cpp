// Tests of bfloat16: halves away from zero, denormals, infinities, and NaN that stays NaN.
#include "engine/tensor/bf16.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <initializer_list>

#include "engine/tensor/split_master.h"

using ds::bf16_from_float;
using ds::float_from_bf16;

TEST_CASE("every bf16 number converts to float and back unchanged") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_from_bf16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      CHECK(std::isnan(float_from_bf16(bf16_from_float(value))));
    } else if (bf16_from_float(value) != bits) {
      FAIL_CHECK(bits);
    }
  }
}

TEST_CASE("rounding is to nearest, halves away from zero, in both signs and down to denormals") {
  struct Row {
    std::uint32_t from;
    std::uint16_t to;
  };
  for (const Row& row :
       {Row{0x3F807FFFU, 0x3F80}, Row{0x3F808000U, 0x3F81}, Row{0x3F818000U, 0x3F82},
        Row{0xBF808000U, 0xBF81}, Row{0xBF807FFFU, 0xBF80}, Row{0x00008000U, 0x0001},
        Row{0x00007FFFU, 0x0000}, Row{0x80008000U, 0x8001}, Row{0x7F7FFFFFU, 0x7F80},
        Row{0x7F800000U, 0x7F80}, Row{0xFF800000U, 0xFF80}}) {
    CAPTURE(row.from);
    CHECK(bf16_from_float(std::bit_cast<float>(row.from)) == row.to);
  }
  for (const std::uint32_t nan : {0x7F800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0xFF800001U}) {
    CHECK(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(nan)))));
  }
}

TEST_CASE("a master in two halves is restored bit by bit, and NaN as NaN") {
  std::uint32_t bits = 12345;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    // Every fourth number lies at the border of rounding.
    const std::uint32_t at = i % 4 == 0 ? (bits & 0xFFFF0000U) + 0x7FFFU + (bits & 1U) : bits;
    const float master = std::bit_cast<float>(at);
    const float back = ds::joined_halves(bf16_from_float(master), ds::low_half(master));
    if (std::isnan(master) ? !std::isnan(back) : std::bit_cast<std::uint32_t>(back) != at) {
      FAIL_CHECK(at);
    }
  }
}
