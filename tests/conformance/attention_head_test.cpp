// Tests of attention and the LM head, forward and backward, on every backend and type, against the
// reference.
#include "conformance/harness.h"

namespace ds::conformance {

TEST_CASE("attention: forward, lse and backward, for any number of positions and depth") {
  struct Row {
    std::int64_t batch, heads, time, depth;
  };
  for_each_subject([](const Subject& subject, DType act) {
    for (const Row& s : {Row{2, 3, 64, 64},
                         {1, 2, 200, 32},
                         {1, 1, 1, 8},
                         {2, 1, 65, 80},
                         {1, 2, 129, 24},
                         {1, 1, 63, 5},
                         {1, 2, 33, 128}}) {
      CAPTURE(s.time);
      CAPTURE(s.depth);
      Bench bench(subject.options, {.micro = s.batch,
                                    .seq_len = s.time,
                                    .width = s.heads * s.depth,
                                    .heads = s.heads,
                                    .ffn = 1,
                                    .vocab = 1,
                                    .chunk_rows = 1,
                                    .act = act});
      const std::int64_t rows = s.batch * s.time, width = s.heads * s.depth;
      Buffer qkv = random_buffer(act, {3, s.batch, s.heads, s.time, s.depth}, 1, 2);
      Buffer out(act, {rows, width}), lse(DType::f32, {s.batch, s.heads, s.time});
      bench.run(Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor()});
      const auto u = [](std::int64_t x) { return static_cast<std::size_t>(x); };
      const reference::AttentionShape shape{u(s.batch), u(s.heads), u(s.time), u(s.depth)};
      const reference::AttentionResult want = reference::attention(qkv.values(), shape);
      check_close("out", out, want.out, act);
      check_close("lse", lse, want.lse, act);

      Buffer dout = random_buffer(act, {rows, width}, 2), dqkv(act, {rows, 3 * width});
      bench.run(AttentionBackward{.qkv = qkv.view(),
                                  .out = out.view(),
                                  .lse = lse.view(),
                                  .dout = dout.view(),
                                  .dqkv = dqkv.tensor()});
      check_close("dqkv", dqkv, reference::attention_backward(qkv.values(), dout.values(), shape),
                  act);
    }
  });
}

TEST_CASE(
    "head: loss, count and gradients, in chunks, with padding columns and rows that do not count") {
  struct Row {
    std::int64_t rows, width, vocab, valid, chunk;
  };
  for_each_subject([](const Subject& subject, DType act) {
    for (const Row& s :
         {Row{50, 48, 300, 257, 17},
          {9, 32, 4100, 4099, 9},
          {3, 5, 7, 7, 1},
          {40, 16, 2048, 2048, 64},
          {20, 24, 2100, 2040, 7},
          // Packed operands that exceed their budget, and a last chunk that fills it better
          {2600, 8, 2050, 2050, 1500}}) {
      CAPTURE(s.vocab);
      if (small_cases() && s.rows * s.vocab > 100000) continue;
      Bench bench(subject.options, {.micro = 1,
                                    .seq_len = s.rows,
                                    .width = s.width,
                                    .heads = 0,
                                    .ffn = 1,
                                    .vocab = s.vocab,
                                    .chunk_rows = s.chunk,
                                    .act = act});
      Buffer in = random_buffer(act, {s.rows, s.width}, 1),
             weight = random_buffer(act, {s.vocab, s.width}, 2);
      std::vector<std::int32_t> targets;
      for (std::int64_t i = 0; i < s.rows; ++i) {
        targets.push_back(i % 5 == 2 ? -1 : static_cast<std::int32_t>(i * 37 % s.valid));
      }
      double loss = 0;
      std::int64_t count = 0;
      const HeadLoss forward{.in = in.view(),
                             .weight = weight.view(),
                             .targets = {targets.data(), DType::i32, {s.rows}},
                             .loss = {&loss, DType::f64, {1}},
                             .count = {&count, DType::i64, {1}},
                             .valid_vocab = s.valid,
                             .chunk_rows = s.chunk};
      const reference::HeadResult want = reference::head_loss(in.values(), weight.values(), targets,
                                                              static_cast<std::size_t>(s.width),
                                                              static_cast<std::size_t>(s.valid), 4);
      bench.run(forward);
      CHECK(count == want.count);
      CHECK(std::abs(loss - want.loss) <= tolerance(act) * std::abs(want.loss));
      const double forward_loss = loss;

      Buffer din(act, {s.rows, s.width}), dweight(DType::f32, {s.vocab, s.width});
      HeadLossBackward op{
          .forward = forward, .din = din.tensor(), .dweight = dweight.tensor(), .loss_scale = 4};
      bench.run(op);
      CHECK(loss == forward_loss);
      check_close("din", din, want.din, act);
      check_close("dweight", dweight, want.dweight, act);
      const std::string din_bits = din.bits(), in_bits = in.bits();
      op.din = in.tensor();  // in place
      bench.run(op);
      CHECK(in.bits() == din_bits);
      std::memcpy(in.data(), in_bits.data(), in_bits.size());
      op.din = din.tensor();
      op.accumulate = true;
      bench.run(op);
      Values twice = want.dweight;
      for (double& x : twice) x *= 2;
      check_close("dweight twice", dweight, twice, act);

      Buffer logits(DType::f32, {s.rows, s.vocab});
      bench.run(Logits{.in = in.view(), .weight = weight.view(), .out = logits.tensor()});
      const auto rows = static_cast<std::size_t>(s.rows), width = static_cast<std::size_t>(s.width),
                 vocab = static_cast<std::size_t>(s.vocab);
      check_close(
          "logits", logits,
          reference::product(in.values(), reference::transposed(weight.values(), vocab, width),
                             rows, width, vocab),
          DType::f32);
    }
  });
}

}  // namespace ds::conformance
