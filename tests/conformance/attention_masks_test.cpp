// Tests of attention with grouped keys, without the causal mask, with lengths, a bias and a custom
// scale, and of equal bits for any number of threads.
#include "conformance/harness.h"

namespace ds::conformance {
namespace {

using reference::Index;

Index u(std::int64_t x) { return static_cast<Index>(x); }

struct Masked {
  std::int64_t batch, heads, kv_heads, time, depth;
  bool causal = true, has_bias = false;
  float scale = 0;
  std::vector<std::int32_t> lengths{};
};

// Blocks of 64: less than one, whole ones, one more; keys that end inside a block and at its edge;
// groups of one, some and all heads.
const Masked kCases[] = {
    {.batch = 2, .heads = 4, .kv_heads = 2, .time = 65, .depth = 16},
    {.batch = 1, .heads = 8, .kv_heads = 1, .time = 130, .depth = 24},
    {.batch = 1, .heads = 6, .kv_heads = 3, .time = 128, .depth = 80},
    {.batch = 2, .heads = 2, .kv_heads = 2, .time = 70, .depth = 32, .causal = false},
    {.batch = 3,
     .heads = 2,
     .kv_heads = 1,
     .time = 130,
     .depth = 8,
     .causal = false,
     .lengths = {64, 1, 129}},
    {.batch = 2, .heads = 3, .kv_heads = 3, .time = 67, .depth = 5, .lengths = {3, 66}},
    {.batch = 2,
     .heads = 4,
     .kv_heads = 4,
     .time = 129,
     .depth = 16,
     .causal = false,
     .has_bias = true,
     .scale = 1},
    {.batch = 2,
     .heads = 4,
     .kv_heads = 2,
     .time = 66,
     .depth = 16,
     .has_bias = true,
     .scale = 0.4F,
     .lengths = {66, 40}},
    {.batch = 1, .heads = 2, .kv_heads = 2, .time = 1, .depth = 64, .has_bias = true},
};

struct Results {
  Buffer out, lse, dqkv, dbias;
};

/// Runs forward and backward of one case.
class Run {
 public:
  Run(const Masked& c, DType act)
      : c_(c),
        rows_(c.batch * c.time),
        shape_{c.heads == c.kv_heads
                   ? Shape{3, c.batch, c.heads, c.time, c.depth}
                   : Shape{1, c.batch, c.heads + 2 * c.kv_heads, c.time, c.depth}},
        qkv(random_buffer(act, shape_, 1, 1.5)),
        bias(random_buffer(DType::f32, {c.heads, 2 * c.time - 1}, 2)),
        dout(random_buffer(act, {rows_, c.heads * c.depth}, 3)),
        act_(act) {}

  Results on(const Options& options) {
    Bench bench(options, {.micro = c_.batch,
                          .seq_len = c_.time,
                          .width = c_.heads * c_.depth,
                          .heads = c_.heads,
                          .ffn = 1,
                          .vocab = 1,
                          .chunk_rows = 1,
                          .kv_heads = c_.kv_heads,
                          .act = act_});
    Results r{Buffer(act_, {rows_, c_.heads * c_.depth}),
              Buffer(DType::f32, {c_.batch, c_.heads, c_.time}),
              Buffer(act_, {rows_, (c_.heads + 2 * c_.kv_heads) * c_.depth}),
              Buffer(DType::f32, {c_.heads, 2 * c_.time - 1})};
    const ConstTensor added = c_.has_bias ? bias.view() : ConstTensor{};
    bench.run(Attention{.qkv = qkv.view(),
                        .lengths = lengths(),
                        .bias = added,
                        .out = r.out.tensor(),
                        .lse = r.lse.tensor(),
                        .kv_heads = c_.kv_heads,
                        .causal = c_.causal,
                        .scale = c_.scale});
    bench.run(AttentionBackward{.qkv = qkv.view(),
                                .lengths = lengths(),
                                .bias = added,
                                .out = r.out.view(),
                                .lse = r.lse.view(),
                                .dout = dout.view(),
                                .dqkv = r.dqkv.tensor(),
                                .dbias = c_.has_bias ? r.dbias.tensor() : Tensor{},
                                .kv_heads = c_.kv_heads,
                                .causal = c_.causal,
                                .scale = c_.scale});
    return r;
  }

  [[nodiscard]] reference::AttentionShape shape() const {
    return {u(c_.batch), u(c_.heads), u(c_.time), u(c_.depth), u(c_.kv_heads)};
  }
  [[nodiscard]] reference::AttentionMask mask() {
    return {.causal = c_.causal,
            .lengths = c_.lengths,
            .bias = c_.has_bias ? bias.values() : Values{},
            .scale = static_cast<double>(c_.scale)};
  }

 private:
  [[nodiscard]] ConstTensor lengths() const {
    if (c_.lengths.empty()) return {};
    return {c_.lengths.data(), DType::i32, {c_.batch}};
  }

  const Masked& c_;
  std::int64_t rows_;
  Shape shape_;

 public:
  Buffer qkv, bias, dout;

 private:
  DType act_;
};

}  // namespace

TEST_CASE("attention with groups, masks, bias and scale, and its gradients") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Masked& c : kCases) {
      CAPTURE(&c - kCases);
      Run run(c, act);
      Results r = run.on(subject.options);
      const Values qkv = run.qkv.values();
      const auto want = reference::attention(qkv, run.shape(), {}, run.mask());
      check_close("out", r.out, want.out, act);
      check_close("lse", r.lse, want.lse, act);
      Values dbias;
      const Values dqkv = reference::attention_backward(qkv, run.dout.values(), run.shape(), {},
                                                        run.mask(), &dbias);
      // A single position has probability 1, so only the value has a gradient.
      check_close("dqkv", r.dqkv, dqkv, act);
      if (c.has_bias && c.time > 1) check_close("dbias", r.dbias, dbias, act);
    }
  });
}

TEST_CASE("attention: a sequence without keys gives zeros, and so does its gradient") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const bool causal : {true, false}) {
      const Masked c{.batch = 2,
                     .heads = 2,
                     .kv_heads = 1,
                     .time = 66,
                     .depth = 16,
                     .causal = causal,
                     .lengths = {0, 66}};
      Run run(c, act);
      Results r = run.on(subject.options);
      const Values out = r.out.values(), dqkv = r.dqkv.values();
      for (Index i = 0; i < out.size() / 2; ++i) REQUIRE(out[i] == 0);
      for (Index i = 0; i < dqkv.size() / 2; ++i) REQUIRE(dqkv[i] == 0);
      const auto want = reference::attention(run.qkv.values(), run.shape(), {}, run.mask());
      check_close("out", r.out, want.out, act);
    }
  });
}

TEST_CASE("attention with groups and masks: the same bits for any number of threads") {
  for_each_subject([](const Subject& subject, DType act) {
    if (small_cases() && act != DType::bf16) return;
    for (const Masked& c : kCases) {
      if (small_cases() && c.time > 70) continue;
      CAPTURE(&c - kCases);
      Run run(c, act);
      Options options = subject.options;
      options.threads = 1;
      Results one = run.on(options);
      options.threads = 3;
      Results three = run.on(options);
      CHECK((one.out.bits() == three.out.bits()));
      CHECK((one.lse.bits() == three.lse.bits()));
      CHECK((one.dqkv.bits() == three.dqkv.bits()));
      if (c.has_bias) CHECK((one.dbias.bits() == three.dbias.bits()));
    }
  });
}

}  // namespace ds::conformance
