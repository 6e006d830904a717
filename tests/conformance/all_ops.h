// AllOps: one op of every kind and the bits of its results, to compare backends and settings.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/harness.h"

namespace ds::conformance {

struct Case {
  std::int64_t batch, time, width, heads, ffn, vocab, chunk;
};
using Record = std::function<void(const char* op, const std::string& bits)>;

/// Runs one op of every kind and reports the bits of every result.
class AllOps {
 public:
  static constexpr std::int64_t kMoreKeys = 3;  // than queries, in cross-attention

  AllOps(Bench& bench, const Case& c, DType act, Record record)
      : bench_(bench), c_(c), act_(act), record_(std::move(record)), rows_(c.batch * c.time) {}

  /// Runs the ops that contain oneDNN's products.
  void products() {
    const std::int64_t w = c_.width;
    Buffer in = random_buffer(act_, {rows_, w}, 1),
           weight = random_buffer(act_, {w, c_.ffn}, 2, 0.2);
    Buffer bias = random_buffer(act_, {c_.ffn}, 3), dout = random_buffer(act_, {rows_, c_.ffn}, 4);
    Buffer out(act_, {rows_, c_.ffn}), pre(act_, {rows_, c_.ffn}), din(act_, {rows_, w});
    Buffer dweight(DType::f32, {w, c_.ffn}), dbias(DType::f32, {c_.ffn});
    bench_.run(Linear{.in = in.view(),
                      .weight = weight.view(),
                      .bias = bias.view(),
                      .out = out.tensor(),
                      .pre = pre.tensor(),
                      .epilogue = Linear::Epilogue::activation});
    report("linear", out);
    bench_.run(
        LinearBackwardInput{.dout = dout.view(), .weight = weight.view(), .din = din.tensor()});
    report("linear input", din);
    bench_.run(LinearBackwardWeight{.in = in.view(),
                                    .dout = dout.view(),
                                    .dweight = dweight.tensor(),
                                    .dbias = dbias.tensor()});
    report("linear weight", dweight);
    report("linear bias", dbias);
    attention();
    masked_attention();
    head(in, 1, 1);
    head(in, 7, 0.5F);
  }

  /// Runs the ops that contain only our own loops.
  void loops() {
    norms();
    const std::int64_t n = rows_ * c_.width;
    Buffer a = random_buffer(act_, {n}, 7, 5), b = random_buffer(act_, {n}, 8), out(act_, {n});
    for (const Activation activation : reference::kPlainActivations) {
      bench_.run(ActivateBackward{
          .pre = a.view(), .dout = b.view(), .din = out.tensor(), .activation = activation});
      report("activation's gradient", out);
      bench_.run(Activate{.in = a.view(), .out = out.tensor(), .activation = activation});
      report("activation", out);
    }
    columns();
    bench_.run(Dropout{.in = a.view(), .draw = some_draw(), .out = out.tensor()});
    report("dropout", out);
    bench_.run(Add{.a = a.view(), .b = b.view(), .out = out.tensor()});
    report("add", out);
    gated(a, b);
    decoding();
    embedding();
    optimizer(n);
  }

 private:
  void columns() {
    Buffer in = random_buffer(act_, {rows_, 3 * c_.width}, 40),
           delta = random_buffer(act_, {rows_, c_.width}, 41);
    Buffer sum(act_, {rows_, 3 * c_.width}), part(act_, {rows_, c_.width});
    bench_.run(AddColumns{.in = in.view(),
                          .parts = {{{delta.view(), c_.width}, {}, {}}},
                          .out = sum.tensor(),
                          .scale = 0.3F});
    report("columns added", sum);
    bench_.run(
        TakeColumns{.in = in.view(), .out = part.tensor(), .first = c_.width + 1, .scale = 0.3F});
    report("columns taken", part);
  }

  void report(const char* op, Buffer& buffer) { record_(op, buffer.bits()); }

  void attention() {
    const Shape shape{3, c_.batch, c_.heads, c_.time, c_.width / c_.heads};
    Buffer qkv = random_buffer(act_, shape, 5), out(act_, {rows_, c_.width});
    Buffer lse(DType::f32, {c_.batch, c_.heads, c_.time}), dqkv(act_, {rows_, 3 * c_.width});
    bench_.run(Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor()});
    report("attention", out);
    report("attention lse", lse);
    bench_.run(AttentionBackward{.qkv = qkv.view(),
                                 .out = out.view(),
                                 .lse = lse.view(),
                                 .dout = out.view(),
                                 .dqkv = dqkv.tensor()});
    report("attention backward", dqkv);
    const DropoutDraw draw = some_draw();
    bench_.run(
        Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor(), .dropout = draw});
    report("attention with dropout", out);
    bench_.run(AttentionBackward{.qkv = qkv.view(),
                                 .out = out.view(),
                                 .lse = lse.view(),
                                 .dout = out.view(),
                                 .dqkv = dqkv.tensor(),
                                 .dropout = draw});
    report("attention backward with dropout", dqkv);
  }

  /// Runs the ops of decoding.
  void decoding() {
    const std::int64_t b = c_.batch, h = c_.heads, depth = c_.width / h, room = c_.time + 3;
    Buffer qkv = random_buffer(act_, {3, b, h, c_.time, depth}, 30);
    Buffer cache = random_buffer(act_, {1, b, 2 * h, room, depth}, 31);
    Buffer queries(act_, {1, b, h, c_.time, depth});
    std::vector<std::int32_t> slots(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < slots.size(); ++i)
      slots[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % c_.time + 3);
    bench_.run(CacheKeys{.qkv = qkv.view(),
                         .slots = {slots.data(), DType::i32, {rows_}},
                         .queries = queries.tensor(),
                         .cache = cache.tensor()});
    report("cache", cache);
    report("queries", queries);
    const std::int64_t few = std::min<std::int64_t>(rows_, 5);
    Buffer in = random_buffer(act_, {few, c_.width}, 32), out(act_, {few, c_.ffn});
    Buffer weight = random_buffer(act_, {c_.width, c_.ffn}, 33);
    Buffer table = random_buffer(act_, {c_.vocab, c_.width}, 34),
           logits(DType::f32, {few, c_.vocab});
    bench_.run(Linear{.in = in.view(), .weight = weight.view(), .out = out.tensor()});
    report("linear of few rows", out);
    bench_.run(Logits{.in = in.view(), .weight = table.view(), .out = logits.tensor()});
    report("logits of few rows", logits);
  }

  [[nodiscard]] std::vector<std::int32_t> some_positions() const {
    std::vector<std::int32_t> positions(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < positions.size(); ++i)
      positions[i] = static_cast<std::int32_t>(i * i % 7 % static_cast<std::size_t>(c_.time));
    return positions;
  }

  /// Runs cross-attention in two documents, with a window and a bias.
  void masked_attention() {
    const std::int64_t keys = c_.time + kMoreKeys, depth = c_.width / c_.heads, b = c_.batch,
                       h = c_.heads;
    Buffer q = random_buffer(act_, {1, b, h, c_.time, depth}, 20);
    Buffer kv = random_buffer(act_, {1, b, 2 * h, keys, depth}, 21);
    Buffer table = random_buffer(act_, {8, h}, 22), bias(DType::f32, {h, c_.time + keys - 1});
    bench_.run(RelativeBias{.table = table.view(), .out = bias.tensor(), .queries = c_.time});
    report("relative bias", bias);
    std::vector<std::int32_t> documents(static_cast<std::size_t>(rows_)),
        key_documents(static_cast<std::size_t>(b * keys)), ranges(2 * documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      documents[i] = static_cast<std::int64_t>(i) % c_.time * 2 >= c_.time;
    }
    for (std::size_t i = 0; i < key_documents.size(); ++i) {
      key_documents[i] = static_cast<std::int64_t>(i) % keys * 2 >= keys;
    }
    bench_.run(KeyRanges{.documents = {documents.data(), DType::i32, {rows_}},
                         .key_documents = {key_documents.data(), DType::i32, {b * keys}},
                         .ranges = {ranges.data(), DType::i32, {b, c_.time, 2}}});
    record_("key ranges", {reinterpret_cast<const char*>(ranges.data()), 4 * ranges.size()});
    Buffer out(act_, {rows_, c_.width}), lse(DType::f32, {b, h, c_.time});
    Buffer dq(act_, {rows_, c_.width}), dkv(act_, {b * keys, 2 * c_.width});
    Buffer dbias(DType::f32, {h, c_.time + keys - 1}), dtable(DType::f32, {8, h});
    const ConstTensor seen{ranges.data(), DType::i32, {b, c_.time, 2}};
    bench_.run(Attention{.qkv = q.view(),
                         .kv = kv.view(),
                         .ranges = seen,
                         .bias = bias.view(),
                         .out = out.tensor(),
                         .lse = lse.tensor(),
                         .window = c_.time / 2});
    report("masked attention", out);
    report("masked attention lse", lse);
    bench_.run(AttentionBackward{.qkv = q.view(),
                                 .kv = kv.view(),
                                 .ranges = seen,
                                 .bias = bias.view(),
                                 .out = out.view(),
                                 .lse = lse.view(),
                                 .dout = out.view(),
                                 .dqkv = dq.tensor(),
                                 .dkv = dkv.tensor(),
                                 .dbias = dbias.tensor(),
                                 .window = c_.time / 2});
    report("masked attention dq", dq);
    report("masked attention dkv", dkv);
    report("masked attention dbias", dbias);
    bench_.run(
        RelativeBiasBackward{.dout = dbias.view(), .dtable = dtable.tensor(), .queries = c_.time});
    report("relative bias dtable", dtable);
  }

  DropoutDraw some_draw() {
    for (std::int64_t b = 0; b < c_.batch; ++b) samples_.push_back(1000 + 7 * b);
    return {.samples = {samples_.data(), DType::i64, {c_.batch}},
            .rate = 0.3F,
            .seed = 5,
            .key = 6,
            .step = 7};
  }

  /// `each`: one of so many rows counts.
  void head(Buffer& in, std::int64_t each, float scale) {
    Buffer weight = random_buffer(act_, {c_.vocab, c_.width}, 6), din(act_, {rows_, c_.width});
    Buffer dweight(DType::f32, {c_.vocab, c_.width});
    Buffer bias = random_buffer(act_, {c_.vocab}, 7), dbias(DType::f32, {c_.vocab});
    std::vector<std::int32_t> targets(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      targets[i] = row % each == 0 ? static_cast<std::int32_t>(row * 31 % (c_.vocab - 3)) : -1;
    }
    double loss = 0;
    std::int64_t count = 0;
    bench_.run(HeadLossBackward{.forward = {.in = in.view(),
                                            .weight = weight.view(),
                                            .targets = {targets.data(), DType::i32, {rows_}},
                                            .bias = bias.view(),
                                            .loss = {&loss, DType::f64, {1}},
                                            .count = {&count, DType::i64, {1}},
                                            .valid_vocab = c_.vocab - 3,
                                            .chunk_rows = c_.chunk,
                                            .scale = scale},
                                .din = din.tensor(),
                                .dweight = dweight.tensor(),
                                .dbias = dbias.tensor()});
    record_("loss", {reinterpret_cast<const char*>(&loss), sizeof(loss)});
    report("head din", din);
    report("head dweight", dweight);
    report("head dbias", dbias);
  }

  void norms() {
    const std::int64_t w = c_.width;
    Buffer in = random_buffer(act_, {rows_, w}, 1, 3), delta = random_buffer(act_, {rows_, w}, 2);
    Buffer weight = random_buffer(act_, {w}, 3), bias = random_buffer(act_, {w}, 4);
    Buffer sum(act_, {rows_, w}), out(act_, {rows_, w}), mean(DType::f32, {rows_}),
        rstd(DType::f32, {rows_});
    bench_.run(LayerNorm{.in = in.view(),
                         .delta = delta.view(),
                         .weight = weight.view(),
                         .bias = bias.view(),
                         .sum = sum.tensor(),
                         .out = out.tensor(),
                         .mean = mean.tensor(),
                         .rstd = rstd.tensor()});
    report("norm", out);
    report("norm rstd", rstd);
    Buffer din(act_, {rows_, w}), dweight(DType::f32, {w}), dbias(DType::f32, {w});
    bench_.run(LayerNormBackward{.dout = delta.view(),
                                 .in = sum.view(),
                                 .weight = weight.view(),
                                 .mean = mean.view(),
                                 .rstd = rstd.view(),
                                 .din = din.tensor(),
                                 .dweight = dweight.tensor(),
                                 .dbias = dbias.tensor()});
    report("norm din", din);
    report("norm dweight", dweight);
    report("norm dbias", dbias);
  }

  void gated(Buffer& a, Buffer& b) {
    const std::int64_t w = c_.width, h = c_.heads;
    Buffer weight = random_buffer(act_, {w}, 15), out(act_, {rows_, w}), din(act_, {rows_, w});
    Buffer rstd(DType::f32, {rows_}), dweight(DType::f32, {w});
    const ConstTensor in{a.data(), act_, {rows_, w}}, dout{b.data(), act_, {rows_, w}};
    bench_.run(
        RmsNorm{.in = in, .weight = weight.view(), .out = out.tensor(), .rstd = rstd.tensor()});
    report("RMS norm", out);
    bench_.run(RmsNormBackward{.dout = dout,
                               .in = in,
                               .weight = weight.view(),
                               .rstd = rstd.view(),
                               .din = din.tensor(),
                               .dweight = dweight.tensor()});
    report("RMS norm din", din);
    report("RMS norm dweight", dweight);
    Buffer both = random_buffer(act_, {rows_, 2 * w}, 16, 4), dboth(act_, {rows_, 2 * w});
    for (const Activation gate : reference::kGates) {
      bench_.run(Glu{.in = both.view(), .out = out.tensor(), .activation = gate});
      report("gated unit", out);
      bench_.run(
          GluBackward{.in = both.view(), .dout = dout, .din = dboth.tensor(), .activation = gate});
      report("gated unit's din", dboth);
    }
    Buffer qkv = random_buffer(act_, {3, c_.batch, h, c_.time, w / h}, 17);
    Buffer heads(act_, qkv.view().shape), dheads = random_buffer(act_, {rows_, 3 * w}, 18),
                                          q_norm = random_buffer(act_, {w / h}, 19),
                                          dq(DType::f32, {w / h}), dk(DType::f32, {w / h});
    bench_.run(HeadNorm{.in = qkv.view(),
                        .q_weight = q_norm.view(),
                        .k_weight = q_norm.view(),
                        .out = heads.tensor(),
                        .heads = h});
    report("head norm", heads);
    bench_.run(HeadNormBackward{.dout = dheads.view(),
                                .in = qkv.view(),
                                .q_weight = q_norm.view(),
                                .k_weight = q_norm.view(),
                                .din = dheads.tensor(),
                                .dq_weight = dq.tensor(),
                                .dk_weight = dk.tensor(),
                                .heads = h});
    report("head norm din", dheads);
    report("head norm dq_weight", dq);
    report("head norm dk_weight", dk);
    bench_.run(Rotary{
        .in = qkv.view(), .out = qkv.tensor(), .seq_len = c_.time, .heads = h, .kv_heads = h});
    report("rotary", qkv);
    const std::vector<std::int32_t> positions = some_positions();
    bench_.run(Rotary{.in = qkv.view(),
                      .positions = {positions.data(), DType::i32, {rows_}},
                      .out = qkv.tensor(),
                      .seq_len = c_.time,
                      .heads = h,
                      .kv_heads = h});
    report("rotary with positions", qkv);
  }

  void embedding() {
    Buffer dout = random_buffer(act_, {rows_, c_.width}, 9);
    Buffer dwte(DType::f32, {c_.vocab, c_.width}), dwpe(DType::f32, {c_.time, c_.width});
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<std::int32_t>(i * i % 17);
    bench_.run(EmbedBackward{.tokens = {tokens.data(), DType::i32, {rows_}},
                             .dout = dout.view(),
                             .dwte = dwte.tensor(),
                             .dwpe = dwpe.tensor()});
    report("dwte", dwte);
    report("dwpe", dwpe);
    const std::vector<std::int32_t> positions = some_positions();
    bench_.run(EmbedBackward{.tokens = {tokens.data(), DType::i32, {rows_}},
                             .dout = dout.view(),
                             .positions = {positions.data(), DType::i32, {rows_}},
                             .dwte = dwte.tensor(),
                             .dwpe = dwpe.tensor()});
    report("dwpe with positions", dwpe);
  }

  void optimizer(std::int64_t n) {
    Buffer grad = random_buffer(DType::f32, {n}, 10), master = random_buffer(DType::f32, {n}, 11);
    Buffer m = random_buffer(DType::f32, {n}, 12, 0.1), v(DType::f32, {n}), weights(act_, {n});
    bench_.run(FillNormal{
        .out = v.tensor(), .mean = 0.5F, .standard_deviation = 0.01F, .seed = 3, .key = 4});
    report("normal", v);
    bench_.run(OptimizerUpdate{.grad = grad.view(),
                               .master = master.tensor(),
                               .m = m.tensor(),
                               .v = v.tensor(),
                               .weights = weights.tensor(),
                               .numbers = {.grad_scale = 0.7F,
                                           .lr = 1e-3F,
                                           .weight_decay = 0.1F,
                                           .bias_correction1 = 0.19F,
                                           .bias_correction2 = 0.002F}});
    report("AdamW master", master);
    report("AdamW m", m);
    report("AdamW v", v);
    report("AdamW weights", weights);
    Buffer low = random_buffer(DType::bf16, {n}, 13), high = random_buffer(DType::bf16, {n}, 14);
    Tensor low_half = low.tensor();
    low_half.dtype = DType::i16;
    bench_.run(OptimizerUpdate{.grad = grad.view(),
                               .m = m.tensor(),
                               .weights = high.tensor(),
                               .low = low_half,
                               .type = OptimizerType::lion,
                               .numbers = {.lr = 1e-3F}});
    report("Lion m", m);
    report("Lion weights", high);
    report("Lion low halves", low);
    const Shape leaves{(grad.view().elements() + 1023) / 1024};
    std::vector<double> sums(static_cast<std::size_t>(leaves[0]));
    std::vector<std::int64_t> bad(sums.size());
    bench_.run(LeafSquares{.in = grad.view(),
                           .sums = {sums.data(), DType::f64, leaves},
                           .non_finite = {bad.data(), DType::i64, leaves}});
    record_("leaf squares",
            {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(double)});
  }

  Bench& bench_;
  Case c_;
  DType act_;
  Record record_;
  std::int64_t rows_;
  std::vector<std::int64_t> samples_;
};

}  // namespace ds::conformance
