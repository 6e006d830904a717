// Tests of the LM head where few rows count, or none, with a bias and a scale of its input, against
// the double-precision reference; and that rows that do not count change no bit.
#include "conformance/harness.h"

namespace ds::conformance {
namespace {

struct Sizes {
  std::int64_t rows, width, vocab, valid, chunk;
};

Kernels::Extents extents_of(const Sizes& s, DType act) {
  return {.micro = 1,
          .seq_len = s.rows,
          .width = s.width,
          .heads = 0,
          .ffn = 1,
          .vocab = s.vocab,
          .chunk_rows = s.chunk,
          .head_bias = true,
          .head_scaled = true,
          .act = act};
}

/// The tensors of one head.
struct Head {
  Head(const Sizes& s, DType act, std::vector<std::int32_t> wanted, float in_scale)
      : sizes(s),
        scale(in_scale),
        targets(std::move(wanted)),
        in(random_buffer(act, {s.rows, s.width}, 1)),
        weight(random_buffer(act, {s.vocab, s.width}, 2)),
        bias(random_buffer(act, {s.vocab}, 3)),
        din(act, {s.rows, s.width}),
        dweight(DType::f32, {s.vocab, s.width}),
        dbias(DType::f32, {s.vocab}) {}

  HeadLossBackward op() {
    return {.forward = {.in = in.view(),
                        .weight = weight.view(),
                        .targets = {targets.data(), DType::i32, {sizes.rows}},
                        .bias = bias.view(),
                        .loss = {&loss, DType::f64, {1}},
                        .count = {&count, DType::i64, {1}},
                        .valid_vocab = sizes.valid,
                        .chunk_rows = sizes.chunk,
                        .scale = scale},
            .din = din.tensor(),
            .dweight = dweight.tensor(),
            .dbias = dbias.tensor(),
            .loss_scale = 4};
  }
  [[nodiscard]] reference::HeadResult want() {
    return reference::head_loss(
        in.values(), weight.values(), targets, static_cast<std::size_t>(sizes.width),
        static_cast<std::size_t>(sizes.valid), 4, bias.values(), static_cast<double>(scale));
  }

  Sizes sizes;
  float scale;
  std::vector<std::int32_t> targets;
  Buffer in, weight, bias, din, dweight, dbias;
  double loss = -1;
  std::int64_t count = -1;
};

/// Returns targets of which one in `each` counts.
std::vector<std::int32_t> sparse(const Sizes& s, std::int64_t each) {
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    targets.push_back(i % each == each - 1 ? static_cast<std::int32_t>(i * 37 % s.valid) : -100);
  }
  return targets;
}

}  // namespace

TEST_CASE("head: few rows count; a bias; a scale of the input") {
  for_each_subject([](const Subject& subject, DType act) {
    // One chunk of counted rows, several, a last one of one row; slices of the vocabulary.
    for (const Sizes& s : {Sizes{300, 40, 131, 120, 64},
                           {3, 5, 7, 7, 1},
                           {700, 16, 2100, 2048, 33},
                           {65, 24, 64, 61, 65}}) {
      for (const std::int64_t each : {1, 2, 3, 7, 1000}) {
        for (const float scale : {1.0F, 0.375F}) {
          CAPTURE(s.rows);
          CAPTURE(each);
          CAPTURE(scale);
          Bench bench(subject.options, extents_of(s, act));
          Head head(s, act, sparse(s, each), scale);
          HeadLossBackward op = head.op();
          bench.run(op);
          const reference::HeadResult want = head.want();
          CHECK(head.count == want.count);
          CHECK(std::abs(head.loss - want.loss) <= tolerance(act) * std::abs(want.loss));
          check_close("din", head.din, want.din, act);
          check_close("dweight", head.dweight, want.dweight, act);
          check_close("dbias", head.dbias, want.dbias, act);
          const double loss = head.loss;
          bench.run(op.forward);
          CHECK(head.loss == loss);

          const std::string bits = head.din.bits();
          op.accumulate = true;
          op.din = head.in.tensor();  // in place
          bench.run(op);
          CHECK((head.in.bits() == bits));
          Values twice = want.dweight, bias_twice = want.dbias;
          for (double& x : twice) x *= 2;
          for (double& x : bias_twice) x *= 2;
          check_close("dweight twice", head.dweight, twice, act);
          check_close("dbias twice", head.dbias, bias_twice, act);
        }
      }
    }
  });
}

// 32 rows that count fill the chunk's products without rows of zeros.
TEST_CASE("head: rows that do not count change no bit of the others' results") {
  for_each_subject([](const Subject& subject, DType act) {
    if (subject.options.accelerator) return;  // its chunks contain rows that do not count
    const Sizes all{32, 24, 200, 190, 32}, more{32 * 5, 24, 200, 190, 32};
    Head with(more, act, sparse(more, 5), 1), alone(all, act, {}, 1);
    const std::size_t row_bytes = with.in.bits().size() / 160;
    for (std::size_t r = 0; r < 32; ++r) {
      alone.targets.push_back(with.targets[5 * r + 4]);
      std::memcpy(alone.in.data() + r * row_bytes, with.in.data() + (5 * r + 4) * row_bytes,
                  row_bytes);
    }
    Bench bench(subject.options, extents_of(more, act));
    bench.run(with.op());
    bench.run(alone.op());
    CHECK(with.loss == alone.loss);
    CHECK((with.dweight.bits() == alone.dweight.bits()));
    CHECK((with.dbias.bits() == alone.dbias.bits()));
    for (std::size_t r = 0; r < 160; ++r) {
      const std::string row = with.din.bits().substr(r * row_bytes, row_bytes);
      const bool counts = r % 5 == 4;
      CHECK((row == (counts ? alone.din.bits().substr(r / 5 * row_bytes, row_bytes)
                            : std::string(row_bytes, '\0'))));
    }
  });
}

TEST_CASE("logits with a bias and a scale") {
  for_each_subject([](const Subject& subject, DType act) {
    const Sizes s{3, 24, 200, 190, 3};
    Bench bench(subject.options, extents_of(s, act));
    Head head(s, act, sparse(s, 1), 0.375F);
    Buffer out(DType::f32, {s.rows, s.vocab});
    bench.run(Logits{.in = head.in.view(),
                     .weight = head.weight.view(),
                     .bias = head.bias.view(),
                     .out = out.tensor(),
                     .scale = head.scale});
    Values want = reference::product(
        head.in.values(), reference::transposed(head.weight.values(), 200, 24), 3, 24, 200);
    const Values bias = head.bias.values();
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = 0.375 * want[i] + bias[i % 200];
    check_close("logits", out, want, act);  // the scaled input is rounded to act
  });
}

}  // namespace ds::conformance
