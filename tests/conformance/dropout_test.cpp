// Tests of dropout of activations and attention's probabilities, element by element.
#include "reference/dropout.h"

#include <algorithm>

#include "conformance/harness.h"

namespace ds::conformance {
namespace {

constexpr std::uint64_t kSeed = 0x123456789ABCDEF0U, kKey = 0xFEDCBA9876543210U,
                        kStep = 0x300000007U;

DropoutDraw draw_of(const std::vector<std::int64_t>& samples, float rate) {
  return {.samples = {samples.data(), DType::i64, {static_cast<std::int64_t>(samples.size())}},
          .rate = rate,
          .seed = kSeed,
          .key = kKey,
          .step = kStep};
}
reference::DropoutNumbers numbers_of(float rate) {
  return {.seed = kSeed, .key = kKey, .step = kStep, .rate = static_cast<double>(rate)};
}
// Beyond 32 bits, and not in order.
const std::vector<std::int64_t> kSamples{0x500000003, 0, 17};

}  // namespace

TEST_CASE("dropout: exactly the documented elements, scaled and rounded once; in place too") {
  for_each_subject([](const Subject& subject, DType act) {
    Bench bench(subject.options, {});
    for (const std::int64_t each : {1, 63, 64, 65, 4620, 33000}) {
      for (const float rate : {0.1F, 0.5F, 1.0F}) {
        CAPTURE(each);
        CAPTURE(rate);
        Buffer in = random_buffer(act, {3 * each}, 1, 5), out(act, {3 * each});
        Values values = in.values();
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto size = static_cast<std::size_t>(each);
          const double factor = reference::dropout_factor(
              numbers_of(rate), static_cast<std::uint64_t>(kSamples[i / size]), i % size);
          // The factor in f32, one product in f32, one rounding to the type.
          const float kept = static_cast<float>(values[i]) * (1.0F / (1.0F - rate));
          values[i] = factor == 0 ? 0 : static_cast<double>(kept);
        }
        Buffer want = Buffer::of(act, {3 * each}, values);
        bench.run(Dropout{.in = in.view(), .draw = draw_of(kSamples, rate), .out = out.tensor()});
        CHECK((out.bits() == want.bits()));
        bench.run(Dropout{.in = in.view(), .draw = draw_of(kSamples, rate), .out = in.tensor()});
        CHECK((in.bits() == want.bits()));
      }
    }
  });
}

TEST_CASE("dropout: a sample's elements do not depend on its micro-batch") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t each = 200;
    Bench bench(subject.options, {});
    Buffer in = random_buffer(act, {3 * each}, 1), all(act, {3 * each}), one(act, {each});
    bench.run(Dropout{.in = in.view(), .draw = draw_of(kSamples, 0.4F), .out = all.tensor()});
    for (std::size_t b = 0; b < 3; ++b) {
      const std::vector<std::int64_t> alone{kSamples[b]};
      const std::size_t bytes = static_cast<std::size_t>(each * size_of(act));
      const ConstTensor part{in.data() + b * bytes, act, {each}};
      bench.run(Dropout{.in = part, .draw = draw_of(alone, 0.4F), .out = one.tensor()});
      CHECK((one.bits() == all.bits().substr(b * bytes, bytes)));
    }
  });
}

TEST_CASE("dropout: the share kept, and different elements for another seed, key, step or sample") {
  for (const Subject& subject : subjects()) {
    const std::int64_t n = 1 << 18;
    Bench bench(subject.options, {});
    Buffer in = Buffer::of(DType::f32, {n}, Values(static_cast<std::size_t>(n), 1.0));
    const std::vector<std::int64_t> first{3}, second{4};
    const DropoutDraw draw = draw_of(first, 0.1F);
    std::vector<DropoutDraw> draws(4, draw);
    draws[0].seed ^= 1U << 31;
    draws[1].key ^= 1;
    draws[2].step += 1;
    draws[3].samples.data = second.data();
    Buffer out(DType::f32, {n});
    bench.run(Dropout{.in = in.view(), .draw = draw, .out = out.tensor()});
    const Values base = out.values();
    const auto dropped = [](const Values& v) {
      return static_cast<double>(std::count(v.begin(), v.end(), 0.0));
    };
    const auto total = static_cast<double>(n);
    // Five standard errors of a share of n draws.
    CHECK(std::abs(dropped(base) / total - 0.1) < 5 * std::sqrt(0.1 * 0.9 / total));
    for (const DropoutDraw& other : draws) {
      bench.run(Dropout{.in = in.view(), .draw = other, .out = out.tensor()});
      const Values values = out.values();
      double both = 0;
      for (std::size_t i = 0; i < values.size(); ++i) both += values[i] == 0 && base[i] == 0;
      CHECK(std::abs(both / total - 0.01) < 5 * std::sqrt(0.01 * 0.99 / total));  // independent
    }
  }
}

TEST_CASE("attention with dropout: forward and backward against the reference with its factors") {
  struct Row {
    std::int64_t heads, time, depth;
  };
  for_each_subject([](const Subject& subject, DType act) {
    for (const Row& s : {Row{3, 64, 64}, {2, 129, 24}, {1, 1, 8}, {2, 77, 5}, {1, 200, 80}}) {
      CAPTURE(s.time);
      const std::int64_t batch = 3, rows = batch * s.time, width = s.heads * s.depth;
      Bench bench(subject.options, {.micro = batch,
                                    .seq_len = s.time,
                                    .width = width,
                                    .heads = s.heads,
                                    .ffn = 1,
                                    .vocab = 1,
                                    .chunk_rows = 1,
                                    .act = act});
      const float rate = 0.25F;
      Buffer qkv = random_buffer(act, {3, batch, s.heads, s.time, s.depth}, 1, 2);
      Buffer out(act, {rows, width}), lse(DType::f32, {batch, s.heads, s.time});
      bench.run(Attention{.qkv = qkv.view(),
                          .out = out.tensor(),
                          .lse = lse.tensor(),
                          .dropout = draw_of(kSamples, rate)});
      const auto u = [](std::int64_t x) { return static_cast<std::size_t>(x); };
      const reference::AttentionShape shape{u(batch), u(s.heads), u(s.time), u(s.depth)};
      const Values factors = reference::attention_factors(numbers_of(rate), shape, kSamples);
      const reference::AttentionResult want = reference::attention(qkv.values(), shape, factors);
      check_close("out", out, want.out, act);
      check_close("lse", lse, want.lse, act);

      Buffer dout = random_buffer(act, {rows, width}, 2), dqkv(act, {rows, 3 * width});
      bench.run(AttentionBackward{.qkv = qkv.view(),
                                  .out = out.view(),
                                  .lse = lse.view(),
                                  .dout = dout.view(),
                                  .dqkv = dqkv.tensor(),
                                  .dropout = draw_of(kSamples, rate)});
      check_close("dqkv", dqkv,
                  reference::attention_backward(qkv.values(), dout.values(), shape, factors), act);
    }
  });
}

}  // namespace ds::conformance
