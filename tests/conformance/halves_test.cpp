// Tests of fp16: conversions as the scalar functions do them, and values beyond its range.
#include <bit>

#include "conformance/harness.h"

namespace ds::conformance {

TEST_CASE("halves: every bit pattern and every tie is converted as the scalar functions do") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    Bench bench(subject.options, {});
    constexpr std::int64_t kAll = 1 << 16;
    Buffer halves(DType::f16, {kAll}), floats(DType::f32, {kAll});
    for (std::uint32_t i = 0; i < kAll; ++i) {
      const auto half = static_cast<std::uint16_t>(i);
      std::memcpy(halves.data() + std::size_t{2} * i, &half, 2);
    }
    bench.run(Cast{.in = halves.view(), .out = floats.tensor()});
    const auto* got = reinterpret_cast<const float*>(floats.data());
    int wrong = 0;
    // An accelerator may return any of NaN's bit patterns.
    const bool any_nan = subject.options.accelerator;
    for (std::uint32_t i = 0; i < kAll; ++i) {
      const float want = float_from_f16(static_cast<std::uint16_t>(i));
      if (any_nan && std::isnan(want) && std::isnan(got[i])) continue;
      wrong += std::memcmp(&got[i], &want, 4) != 0;
    }
    CHECK(wrong == 0);
    // Every exponent and sign of f32, with fractions on, just above and just below ties.
    Buffer from(DType::f32, {kAll}), to(DType::f16, {kAll});
    auto* value = reinterpret_cast<std::uint32_t*>(from.data());
    for (std::uint32_t i = 0; i < kAll; ++i) {
      value[i] = (i >> 7 << 23) | ((i & 63U) * 0x21000U & 0x7FF000U) |
                 (i & 64U ? 0x7FFFFFU : 0U) >> (i % 23);
    }
    bench.run(Cast{.in = from.view(), .out = to.tensor()});
    const auto* rounded_to = reinterpret_cast<const std::uint16_t*>(to.data());
    for (std::uint32_t i = 0; i < kAll; ++i) {
      const std::uint16_t want = f16_from_float(std::bit_cast<float>(value[i]));
      if (any_nan && std::isnan(float_from_f16(want)) && std::isnan(float_from_f16(rounded_to[i])))
        continue;
      wrong += rounded_to[i] != want;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("halves: a product beyond 65504 is infinite, and its gradient counts as non-finite") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    const std::int64_t rows = 3, width = 40;
    Bench bench(subject.options,
                {.micro = 1, .seq_len = rows, .width = width, .ffn = width, .act = DType::f16});
    const Values many(static_cast<std::size_t>(width * width), 64.0);
    Buffer in =
        Buffer::of(DType::f16, {rows, width}, Values(static_cast<std::size_t>(rows * width), 64.0));
    Buffer weight = Buffer::of(DType::f16, {width, width}, many);
    Buffer bias = Buffer::of(DType::f16, {width}, Values(static_cast<std::size_t>(width), 0.0));
    Buffer out(DType::f16, {rows, width}), dweight(DType::f32, {width, width}),
        dbias(DType::f32, {width});
    bench.run(
        Linear{.in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()});
    for (const double x : out.values()) CHECK(x == HUGE_VAL);  // 40 * 64 * 64 = 163840
    bench.run(LinearBackwardWeight{
        .in = in.view(), .dout = out.view(), .dweight = dweight.tensor(), .dbias = dbias.tensor()});
    std::vector<double> sums(2);
    std::vector<std::int64_t> bad(2);
    bench.run(LeafSquares{.in = dweight.view(),
                          .sums = {sums.data(), DType::f64, {2}},
                          .non_finite = {bad.data(), DType::i64, {2}}});
    CHECK(bad[0] + bad[1] == width * width);
  }
}

}  // namespace ds::conformance
