// Tests of AdamW by its definition, the gradient norm's sum and normal numbers, exact where
// exactness is promised.
#include <limits>

#include "conformance/harness.h"
#include "engine/tensor/philox.h"

namespace ds::conformance {
namespace {

/// Sums a leaf in the documented order, in scalars.
double leaf_sum(const Values& in, std::size_t begin) {
  double lanes[16] = {};
  for (std::size_t i = begin; i < std::min(in.size(), begin + 1024); ++i) {
    lanes[(i - begin) % 16] +=
        in[i] * in[i];  // the square of a float is exact, so no fma is needed
  }
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace

TEST_CASE("AdamW follows its definition") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t n = 70001;
    Bench bench(subject.options, {});
    Buffer grad = random_buffer(DType::f32, {n}, 1), master = random_buffer(DType::f32, {n}, 2);
    Buffer m = random_buffer(DType::f32, {n}, 3, 0.1), v = random_buffer(DType::f32, {n}, 4);
    Buffer weights(act, {n});
    Values second = v.values();
    for (double& x : second) x = x * x;  // includes denormals
    second[5] = 1e-42;
    v = Buffer::of(DType::f32, {n}, second);
    const Values g = grad.values(), w0 = master.values(), m0 = m.values(), v0 = v.values();
    const OptimizerUpdate op{.grad = grad.view(),
                             .master = master.tensor(),
                             .m = m.tensor(),
                             .v = v.tensor(),
                             .weights = weights.tensor(),
                             .numbers = {.grad_scale = 0.5F,
                                         .lr = 1e-2F,
                                         .weight_decay = 0.1F,
                                         .bias_correction1 = 0.271F,
                                         .bias_correction2 = 0.003F}};
    bench.run(op);
    const Values w1 = master.values();
    double worst = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double scaled = g[i] * 0.5, b1 = 0.9, b2 = 0.999;
      const double mean = b1 * m0[i] + (1 - b1) * scaled,
                   variance = b2 * v0[i] + (1 - b2) * scaled * scaled;
      const double want =
          w0[i] * (1 - 1e-2 * 0.1) - 1e-2 * (mean / 0.271) / (std::sqrt(variance / 0.003) + 1e-8);
      worst = std::max(worst, std::abs(w1[i] - want) / (1 + std::abs(want)));
    }
    CHECK(worst < 1e-6);  // a few ulp of the weight and of its update
  });
}

TEST_CASE("leaf squares: every leaf's sum exactly, and the leaf of non-finite elements") {
  for (const Subject& subject : subjects()) {
    for (const std::int64_t n : {1, 1023, 1024, 1025, 64 * 1024 + 1, 200 * 1024 + 77}) {
      CAPTURE(n);
      Bench bench(subject.options, {});
      const auto leaves = static_cast<std::size_t>((n + 1023) / 1024);
      Buffer in = random_buffer(DType::f32, {n}, 1, 7);
      auto* raw = reinterpret_cast<float*>(in.data());
      const Values values = in.values();
      raw[n / 2] = std::numeric_limits<float>::quiet_NaN();
      raw[n - 1] = -std::numeric_limits<float>::infinity();
      std::vector<double> sums(leaves, -1);
      std::vector<std::int64_t> bad(leaves, -1);
      const Shape shape{static_cast<std::int64_t>(leaves)};
      bench.run(LeafSquares{.in = in.view(),
                            .sums = {sums.data(), DType::f64, shape},
                            .non_finite = {bad.data(), DType::i64, shape}});
      const auto nan_leaf = static_cast<std::size_t>(n / 2 / 1024);
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        const std::int64_t want_bad =
            n == 1 ? 1 : (leaf == nan_leaf ? 1 : 0) + (leaf == leaves - 1 ? 1 : 0);
        CHECK(bad[leaf] == want_bad);
        if (want_bad == 0) CHECK(sums[leaf] == leaf_sum(values, leaf * 1024));
      }
    }
  }
}

TEST_CASE("normal numbers: Philox words, any sharding, and the moments of a normal distribution") {
  for (const Subject& subject : subjects()) {
    Bench bench(subject.options, {});
    const std::int64_t n = 100000;
    Buffer all(DType::f32, {n}), part(DType::f32, {777});
    bench.run(FillNormal{.out = all.tensor(), .seed = 0x123456789ABCDEF0U, .key = 42});
    const Values values = all.values();
    for (const std::int64_t first : {0, 1, 63, 64, 12345}) {
      bench.run(FillNormal{
          .out = part.tensor(), .seed = 0x123456789ABCDEF0U, .key = 42, .first_element = first});
      const Values got = part.values();
      CHECK(std::equal(got.begin(), got.end(), values.begin() + first));
    }
    for (std::size_t i = 0; i < 200; i += 4) {  // Box-Muller in double, from the scalar Philox
      const auto words =
          philox({static_cast<std::uint32_t>(i / 4), 0, 42, 0}, {0x9ABCDEF0U, 0x12345678U});
      for (std::size_t pair = 0; pair < 2; ++pair) {
        const double u = ((words[2 * pair] >> 8) + 1) * 0x1p-24,
                     radius = std::sqrt(-2 * std::log(u));
        const std::uint32_t bits = words[2 * pair + 1];
        const double angle =
            (bits >> 30) * M_PI / 2 + (((bits << 2) >> 8) * 0x1p-24 - 0.5) * M_PI / 2;
        CHECK(std::abs(values[i + 2 * pair] - radius * std::cos(angle)) < 3e-6);
        CHECK(std::abs(values[i + 2 * pair + 1] - radius * std::sin(angle)) < 3e-6);
      }
    }
    double mean = 0, variance = 0, fourth = 0;
    for (const double x : values) mean += x / static_cast<double>(n);
    for (const double x : values) {
      variance += x * x / static_cast<double>(n);
      fourth += x * x * x * x / static_cast<double>(n);
    }
    // Five standard errors: 1, sqrt(2) and sqrt(96), over sqrt(n).
    CHECK(std::abs(mean) < 5 / std::sqrt(1e5));
    CHECK(std::abs(variance - 1) < 5 * std::sqrt(2 / 1e5));
    CHECK(std::abs(fourth - 3) < 5 * std::sqrt(96 / 1e5));
  }
}

}  // namespace ds::conformance
