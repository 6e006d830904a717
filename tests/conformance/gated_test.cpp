// Tests of RMS norm, SwiGLU, rotary embedding, relative bias and the linear layers of Llama,
// against the double-precision reference.
#include "conformance/harness.h"

namespace ds::conformance {
namespace {

using reference::Index;

Index u(std::int64_t x) { return static_cast<Index>(x); }

Values plus(Values a, const Values& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

struct Grid {
  std::int64_t rows, width;
};
const Grid kGrids[] = {{5, 64}, {33, 96}, {257, 7}, {2100, 24}, {1, 1}, {3, 1000}};

Kernels::Extents extents_of(const Grid& g, DType act) {
  return {.micro = 1,
          .seq_len = g.rows,
          .width = g.width,
          .ffn = g.width,
          .vocab = 1,
          .chunk_rows = 1,
          .act = act};
}

struct HeadsCase {
  std::int64_t batch, heads, kv_heads, time, depth;
  [[nodiscard]] reference::AttentionShape reference() const {
    return {u(batch), u(heads), u(time), u(depth), u(kv_heads)};
  }
  [[nodiscard]] std::int64_t row() const { return (heads + 2 * kv_heads) * depth; }
  [[nodiscard]] Shape shape() const {
    if (heads == kv_heads) return {3, batch, heads, time, depth};
    return {1, batch, heads + 2 * kv_heads, time, depth};
  }
  [[nodiscard]] Kernels::Extents extents(DType act) const {
    return {.micro = batch,
            .seq_len = time,
            .width = heads * depth,
            .heads = heads,
            .ffn = 1,
            .vocab = 1,
            .chunk_rows = 1,
            .kv_heads = kv_heads,
            .act = act};
  }
};
const HeadsCase kHeads[] = {{2, 4, 2, 33, 16}, {1, 6, 1, 70, 24}, {3, 2, 2, 5, 6}, {1, 8, 4, 9, 2}};

}  // namespace

TEST_CASE("RMS norm: with and without a residual, and its gradients") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Grid& g : kGrids) {
      CAPTURE(g.rows);
      CAPTURE(g.width);
      Bench bench(subject.options, extents_of(g, act));
      Buffer in = random_buffer(act, {g.rows, g.width}, 1, 3),
             delta = random_buffer(act, {g.rows, g.width}, 2),
             weight = random_buffer(act, {g.width}, 3);
      Buffer sum(act, {g.rows, g.width}), out(act, {g.rows, g.width}), rstd(DType::f32, {g.rows});
      bench.run(RmsNorm{
          .in = in.view(), .weight = weight.view(), .out = out.tensor(), .rstd = rstd.tensor()});
      check_close("out", out, reference::rms_norm(in.values(), weight.values(), 1e-5).out, act);

      bench.run(RmsNorm{.in = in.view(),
                        .delta = delta.view(),
                        .weight = weight.view(),
                        .sum = sum.tensor(),
                        .out = out.tensor(),
                        .rstd = rstd.tensor(),
                        .eps = 1e-3F});
      const Values added = plus(in.values(), delta.values());
      check_close("sum", sum, added, act);
      const auto want = reference::rms_norm(sum.values(), weight.values(), 1e-3F);
      check_close("out of the sum", out, want.out, act);
      check_close("rstd", rstd, want.rstd, DType::f32);

      Buffer dout = random_buffer(act, {g.rows, g.width}, 4), din(act, {g.rows, g.width});
      Buffer dweight(DType::f32, {g.width});
      const auto gradient =
          reference::rms_norm_backward(dout.values(), sum.values(), weight.values(), 1e-3F);
      const auto backward = [&](ConstTensor residual, Tensor to, bool accumulate) {
        bench.run(RmsNormBackward{.dout = dout.view(),
                                  .in = sum.view(),
                                  .weight = weight.view(),
                                  .rstd = rstd.view(),
                                  .dresidual = residual,
                                  .din = to,
                                  .dweight = dweight.tensor(),
                                  .accumulate = accumulate});
      };
      backward({}, din.tensor(), false);
      if (g.width > 1) check_close("din", din, gradient.din, act);  // one column: almost 0
      check_close("dweight", dweight, gradient.dweight, DType::f32);

      Buffer residual = random_buffer(act, {g.rows, g.width}, 5, 2);
      const Values with = plus(gradient.din, residual.values());
      const Values twice = plus(gradient.dweight, gradient.dweight);
      backward(residual.view(), residual.tensor(), true);
      check_close("din with a residual, in its memory", residual, with, act);
      check_close("dweight added", dweight, twice, DType::f32);
    }
  });
}

TEST_CASE("SwiGLU and its gradient, also in place; extreme gates give 0 or themselves") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Grid& g : kGrids) {
      CAPTURE(g.width);
      Bench bench(subject.options, extents_of(g, act));
      Buffer in = random_buffer(act, {g.rows, 2 * g.width}, 1, 5),
             dout = random_buffer(act, {g.rows, g.width}, 2);
      Buffer out(act, {g.rows, g.width}), din(act, {g.rows, 2 * g.width});
      const Values before = in.values();
      bench.run(SwiGlu{.in = in.view(), .out = out.tensor()});
      check_close("out", out, reference::swiglu(before, u(g.width)), act);
      const Values want = reference::swiglu_backward(before, dout.values(), u(g.width));
      bench.run(SwiGluBackward{.in = in.view(), .dout = dout.view(), .din = din.tensor()});
      check_close("din", din, want, act);
      bench.run(SwiGluBackward{.in = in.view(), .dout = dout.view(), .din = in.tensor()});
      CHECK((in.bits() == din.bits()));
    }
    Bench bench(subject.options, extents_of({1, 2}, act));
    Buffer in = Buffer::of(act, {1, 4}, {-500, 500, 2, 2}), out(act, {1, 2}), din(act, {1, 4});
    Buffer dout = Buffer::of(act, {1, 2}, {1, 1});
    bench.run(SwiGlu{.in = in.view(), .out = out.tensor()});
    CHECK(out.values() == Values{0, 1000});
    bench.run(SwiGluBackward{.in = in.view(), .dout = dout.view(), .din = din.tensor()});
    CHECK(din.values() == Values{0, 2, 0, 500});
  });
}

/// Documents of 1, 2, 3, ... tokens, and one position far away.
std::vector<std::int32_t> positions_that_begin_again(std::int64_t rows) {
  std::vector<std::int32_t> positions;
  for (std::int32_t length = 1; std::ssize(positions) < rows; ++length)
    for (std::int32_t i = 0; i < length; ++i) positions.push_back(i);
  positions.resize(u(rows));
  positions.back() = 300;
  return positions;
}

TEST_CASE("rotary embedding: queries and keys rotate, values stay, in both layouts and in place") {
  const RotaryScaling none, linear{.kind = RotaryScaling::Kind::linear, .factor = 2.5};
  // Few positions, so that the waves of these heads are shorter, longer and between.
  const RotaryScaling llama3{
      .kind = RotaryScaling::Kind::llama3, .factor = 8, .low = 1, .high = 4, .trained = 64};
  for_each_subject([&](const Subject& subject, DType act) {
    for (const HeadsCase& c : kHeads) {
      CAPTURE(c.heads);
      CAPTURE(c.depth);
      Bench bench(subject.options, c.extents(act));
      for (const auto& [inverse, scaling] : {std::pair{false, none},
                                             {true, none},
                                             {false, linear},
                                             {true, llama3},
                                             {false, llama3}}) {
        Buffer in = random_buffer(act, c.shape(), 1), out(act, c.shape());
        Rotary op{.in = in.view(),
                  .out = out.tensor(),
                  .seq_len = c.time,
                  .heads = c.heads,
                  .kv_heads = c.kv_heads,
                  .theta = inverse ? 5e5F : 1e4F,
                  .scaling = scaling,
                  .inverse = inverse};
        bench.run(op);
        const double theta = static_cast<double>(op.theta);
        const Values want =
            reference::rotary(in.values(), c.reference(), theta, inverse, false, scaling);
        check_close("heads", out, want, act);
        const Index values = u(c.batch * c.time * (c.heads + c.kv_heads) * c.depth);
        const Values before = in.values(), after = out.values();
        CHECK(std::equal(after.begin() + static_cast<std::ptrdiff_t>(values), after.end(),
                         before.begin() + static_cast<std::ptrdiff_t>(values)));
        op.out = in.tensor();
        bench.run(op);
        CHECK((in.bits() == out.bits()));

        Buffer rows = random_buffer(act, {c.batch * c.time, c.row()}, 2);
        Buffer turned(act, {c.batch * c.time, c.row()});
        op.in = rows.view();
        op.out = turned.tensor();
        op.rows = true;
        bench.run(op);
        check_close("rows", turned,
                    reference::rotary(rows.values(), c.reference(), theta, inverse, true, scaling),
                    act);

        const std::vector<std::int32_t> positions = positions_that_begin_again(c.batch * c.time);
        op.positions = {positions.data(), DType::i32, {c.batch * c.time}};
        bench.run(op);
        check_close("rows with positions", turned,
                    reference::rotary(rows.values(), c.reference(), theta, inverse, true, scaling,
                                      positions),
                    act);
        Buffer heads = random_buffer(act, c.shape(), 3);
        op.in = heads.view();
        op.out = out.tensor();
        op.rows = false;
        bench.run(op);
        check_close("heads with positions", out,
                    reference::rotary(heads.values(), c.reference(), theta, inverse, false, scaling,
                                      positions),
                    act);
      }
    }
  });
}

TEST_CASE("relative bias and the gradient of its table") {
  struct Row {
    std::int64_t time, keys;
    std::int32_t first;
  };
  for_each_subject([](const Subject& subject, DType act) {
    for (const Row& r : {Row{150, 150, 0}, {67, 131, 0}, {131, 40, 0}, {1, 200, 170}}) {
      for (const bool bidirectional : {true, false}) {
        CAPTURE(r.time);
        const std::int64_t heads = 3, buckets = 32, distances = r.time + r.keys - 1;
        Bench bench(subject.options, extents_of({r.time, heads}, act));
        Buffer table = random_buffer(act, {buckets, heads}, 1);
        Buffer out(DType::f32, {heads, distances}), dtable(DType::f32, {buckets, heads});
        const reference::RelativeBuckets b{buckets, 128, bidirectional};
        RelativeBias op{.table = table.view(),
                        .out = out.tensor(),
                        .queries = r.time == r.keys ? 0 : r.time,
                        .bidirectional = bidirectional};
        if (r.first != 0) op.first = {&r.first, DType::i32, {1}};
        bench.run(op);
        CHECK(out.values() ==
              reference::relative_bias(table.values(), u(heads), u(r.time), u(r.keys), b, r.first));
        Buffer dout = random_buffer(DType::f32, {heads, distances}, 2);
        Values want =
            reference::relative_bias_backward(dout.values(), u(heads), u(r.time), u(r.keys), b);
        for (const bool accumulate : {false, true}) {
          bench.run(RelativeBiasBackward{.dout = dout.view(),
                                         .dtable = dtable.tensor(),
                                         .queries = op.queries,
                                         .bidirectional = bidirectional,
                                         .accumulate = accumulate});
          check_close("dtable", dtable, want, DType::f32);
          for (double& x : want) x *= 2;
        }
      }
    }
  });
}

TEST_CASE("linear without bias: plain and into grouped heads; input gradient behind a GELU") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const HeadsCase& c : kHeads) {
      CAPTURE(c.heads);
      const std::int64_t rows = c.batch * c.time, k = c.heads * c.depth, n = c.row();
      Bench bench(subject.options, c.extents(act));
      Buffer in = random_buffer(act, {rows, k}, 1), weight = random_buffer(act, {k, n}, 2);
      Buffer bias = random_buffer(act, {n}, 3), out(act, {rows, n}), heads(act, c.shape());
      const Values plain = reference::product(in.values(), weight.values(), u(rows), u(k), u(n));
      bench.run(Linear{.in = in.view(), .weight = weight.view(), .out = out.tensor()});
      check_close("out", out, plain, act);
      Linear into{.in = in.view(),
                  .weight = weight.view(),
                  .out = heads.tensor(),
                  .epilogue = Linear::Epilogue::heads,
                  .kv_heads = c.kv_heads};
      bench.run(into);
      check_close("heads", heads, reference::heads_of_rows(plain, c.reference()), act);
      into.bias = bias.view();
      bench.run(into);
      const Values with = reference::linear(in.values(), weight.values(), bias.values(), u(k));
      check_close("heads with bias", heads, reference::heads_of_rows(with, c.reference()), act);

      Buffer dout = random_buffer(act, {rows, n}, 4), pre = random_buffer(act, {rows, k}, 5, 2);
      Buffer din(act, {rows, k});
      bench.run(LinearBackwardInput{
          .dout = dout.view(), .weight = weight.view(), .pre = pre.view(), .din = din.tensor()});
      check_close("din", din,
                  reference::linear_backward_input(dout.values(), weight.values(), u(k), u(n),
                                                   pre.values()),
                  act);
    }
  });
}

TEST_CASE("linear into queries alone, and into keys and values alone") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t batch = 2, time = 35, depth = 24, k = 40, rows = batch * time;
    Bench bench(subject.options, {.micro = batch,
                                  .seq_len = time,
                                  .width = k,
                                  .heads = 3,
                                  .ffn = 3 * depth,
                                  .vocab = 1,
                                  .chunk_rows = 1,
                                  .head_size = depth,
                                  .act = act});
    // (heads in all, of them of keys): 3 of queries; 2 of keys and 2 of values
    for (const auto& [heads, kv_heads] : {std::pair<std::int64_t, std::int64_t>{3, 0}, {4, 2}}) {
      const std::int64_t n = heads * depth;
      Buffer in = random_buffer(act, {rows, k}, 1), weight = random_buffer(act, {k, n}, 2);
      Buffer bias = random_buffer(act, {n}, 3), out(act, {1, batch, heads, time, depth});
      bench.run(Linear{.in = in.view(),
                       .weight = weight.view(),
                       .bias = bias.view(),
                       .out = out.tensor(),
                       .epilogue = Linear::Epilogue::heads,
                       .kv_heads = kv_heads});
      // As one part of heads, or as two parts one after the other.
      const Values plain = reference::linear(in.values(), weight.values(), bias.values(), u(k));
      Values want(plain.size());
      const std::int64_t parts = kv_heads == 0 ? 1 : 2, each = heads / parts;
      for (std::int64_t i = 0; i < rows * n; ++i) {
        const std::int64_t row = i / n, head = i % n / depth, part = head / each;
        const std::int64_t place = (part * batch + row / time) * each + head % each;
        want[u((place * time + row % time) * depth + i % depth)] = plain[u(i)];
      }
      check_close("heads", out, want, act);
    }
  });
}

TEST_CASE("embedding without positions") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t rows = 21, width = 37, vocab = 11;
    Bench bench(subject.options, extents_of({rows, width}, act));
    std::vector<std::int32_t> tokens(u(rows));
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int>(i * i % 11);
    Buffer wte = random_buffer(act, {vocab, width}, 1), out(act, {rows, width});
    Buffer dout = random_buffer(act, {rows, width}, 2), dwte(DType::f32, {vocab, width});
    const ConstTensor ids{tokens.data(), DType::i32, {rows}};
    bench.run(Embed{.tokens = ids, .wte = wte.view(), .out = out.tensor()});
    bench.run(EmbedBackward{.tokens = ids, .dout = dout.view(), .dwte = dwte.tensor()});
    const Values weights = wte.values(), from = dout.values();
    Values want(u(rows * width)), gradient(u(vocab * width));
    for (Index i = 0; i < want.size(); ++i) {
      const Index at = static_cast<Index>(tokens[i / u(width)]) * u(width) + i % u(width);
      want[i] = weights[at];
      gradient[at] += from[i];
    }
    CHECK(out.values() == want);
    check_close("dwte", dwte, gradient, DType::f32);
  });
}

}  // namespace ds::conformance
