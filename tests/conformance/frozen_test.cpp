// Tests of reverse kernels without the gradients of frozen parameters: the others keep their bits.
#include "conformance/harness.h"

namespace ds::conformance {
namespace {

constexpr std::int64_t kRows = 70, kWidth = 48, kOut = 40, kVocab = 64, kTime = 35;

/// Random inputs, and results that start as the same garbage.
struct Case {
  explicit Case(DType type)
      : in(random_buffer(type, {kRows, kWidth}, 1)),
        dout(random_buffer(type, {kRows, kOut}, 2)),
        dsame(random_buffer(type, {kRows, kWidth}, 3)),
        weight(random_buffer(type, {kWidth}, 4)),
        table(random_buffer(type, {kVocab, kWidth}, 5)),
        mean(random_buffer(DType::f32, {kRows}, 6)),
        rstd(random_buffer(DType::f32, {kRows}, 7)) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<std::int32_t>(i * 29 % kVocab);
  }
  [[nodiscard]] ConstTensor ids() const { return {tokens.data(), DType::i32, {kRows}}; }

  Buffer in, dout, dsame, weight, table, mean, rstd;
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(kRows);
};

bool same_bytes(Buffer& a, Buffer& b) { return a.bits() == b.bits(); }

template <class Body>
void for_each_case(const Body& body) {
  for (const Subject& subject : subjects()) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      CAPTURE(subject.name);
      CAPTURE(static_cast<int>(type));
      Bench bench(subject.options, {.micro = 2,
                                    .seq_len = kTime,
                                    .width = kWidth,
                                    .ffn = kWidth,
                                    .vocab = kVocab,
                                    .chunk_rows = 32,
                                    .act = type});
      Case c(type);
      body(bench, c, type);
    }
  }
}

}  // namespace

TEST_CASE("frozen: a bias without its weight, a weight without its bias") {
  for_each_case([](Bench& bench, Case& c, DType) {
    Buffer dweight(DType::f32, {kWidth, kOut}), dbias(DType::f32, {kOut});
    Buffer alone(DType::f32, {kOut}), weight_alone(DType::f32, {kWidth, kOut});
    for (const bool adds : {false, true}) {
      bench.run(LinearBackwardWeight{.in = c.in.view(),
                                     .dout = c.dout.view(),
                                     .dweight = dweight.tensor(),
                                     .dbias = dbias.tensor(),
                                     .accumulate = adds});
      bench.run(LinearBackwardWeight{
          .in = c.in.view(), .dout = c.dout.view(), .dbias = alone.tensor(), .accumulate = adds});
      bench.run(LinearBackwardWeight{.in = c.in.view(),
                                     .dout = c.dout.view(),
                                     .dweight = weight_alone.tensor(),
                                     .accumulate = adds});
      CHECK(same_bytes(dbias, alone));
      CHECK(same_bytes(dweight, weight_alone));
    }
  });
}

TEST_CASE("frozen: norms without the gradient of their weight or bias") {
  for_each_case([](Bench& bench, Case& c, DType type) {
    Buffer din(type, {kRows, kWidth}), other(type, {kRows, kWidth});
    Buffer dweight(DType::f32, {kWidth}), dbias(DType::f32, {kWidth});
    Buffer weight_alone(DType::f32, {kWidth}), bias_alone(DType::f32, {kWidth});
    LayerNormBackward norm{.dout = c.dsame.view(),
                           .in = c.in.view(),
                           .weight = c.weight.view(),
                           .mean = c.mean.view(),
                           .rstd = c.rstd.view(),
                           .din = din.tensor(),
                           .dweight = dweight.tensor(),
                           .dbias = dbias.tensor()};
    bench.run(norm);
    norm.din = other.tensor();
    norm.dweight = weight_alone.tensor();
    norm.dbias = {};
    bench.run(norm);
    CHECK(same_bytes(din, other));
    norm.dweight = {};
    norm.dbias = bias_alone.tensor();
    bench.run(norm);
    CHECK(same_bytes(dweight, weight_alone));
    CHECK(same_bytes(dbias, bias_alone));
    RmsNormBackward rms{.dout = c.dsame.view(),
                        .in = c.in.view(),
                        .weight = c.weight.view(),
                        .rstd = c.rstd.view(),
                        .din = din.tensor(),
                        .dweight = dweight.tensor()};
    bench.run(rms);
    rms.din = other.tensor();
    rms.dweight = {};
    bench.run(rms);
    CHECK(same_bytes(din, other));
  });
}

TEST_CASE("frozen: one of the two tables of an embedding") {
  for_each_case([](Bench& bench, Case& c, DType) {
    Buffer dwte(DType::f32, {kVocab, kWidth}), dwpe(DType::f32, {kTime, kWidth});
    Buffer wte_alone(DType::f32, {kVocab, kWidth}), wpe_alone(DType::f32, {kTime, kWidth});
    bench.run(EmbedBackward{
        .tokens = c.ids(), .dout = c.dsame.view(), .dwte = dwte.tensor(), .dwpe = dwpe.tensor()});
    bench.run(EmbedBackward{.tokens = c.ids(), .dout = c.dsame.view(), .dwte = wte_alone.tensor()});
    bench.run(EmbedBackward{.tokens = c.ids(), .dout = c.dsame.view(), .dwpe = wpe_alone.tensor()});
    CHECK(same_bytes(dwte, wte_alone));
    CHECK(same_bytes(dwpe, wpe_alone));
  });
}

TEST_CASE("frozen: a head without the gradient of its weights or of its input") {
  for_each_case([](Bench& bench, Case& c, DType type) {
    double loss = 0, loss_alone = 0;
    std::int64_t count = 0;
    Buffer din(type, {kRows, kWidth}), din_alone(type, {kRows, kWidth});
    Buffer dweight(DType::f32, {kVocab, kWidth}), dweight_alone(DType::f32, {kVocab, kWidth});
    HeadLossBackward head{.forward = {.in = c.in.view(),
                                      .weight = c.table.view(),
                                      .targets = c.ids(),
                                      .loss = {&loss, DType::f64, {1}},
                                      .count = {&count, DType::i64, {1}},
                                      .valid_vocab = kVocab,
                                      .chunk_rows = 32},
                          .din = din.tensor(),
                          .dweight = dweight.tensor()};
    bench.run(head);
    head.forward.loss = {&loss_alone, DType::f64, {1}};
    head.din = din_alone.tensor();
    head.dweight = {};
    bench.run(head);
    CHECK(loss == loss_alone);
    head.din = {};
    head.dweight = dweight_alone.tensor();
    bench.run(head);
    CHECK(loss == loss_alone);
    CHECK(same_bytes(din, din_alone));
    CHECK(same_bytes(dweight, dweight_alone));
  });
}

}  // namespace ds::conformance
