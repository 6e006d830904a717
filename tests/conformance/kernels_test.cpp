// Tests of every op, forward and backward, on every backend and type, against the double-precision
// reference.
#include <cstdio>

#include "conformance/harness.h"

namespace ds::conformance {
namespace {

struct Sizes {
  std::int64_t rows, k, n;
};
// Whole tiles; one less or more than a tile, a panel and a register; odd sums; sums longer than one
// chunk.
const Sizes kLinearSizes[] = {{256, 64, 192}, {257, 65, 131}, {1, 1, 1},    {33, 96, 64},
                              {255, 63, 65},  {7, 128, 17},   {300, 31, 3}, {2100, 24, 40}};

Kernels::Extents extents_of(const Sizes& s, DType act) {
  return {.micro = 1,
          .seq_len = s.rows,
          .width = s.k,
          .heads = 0,
          .ffn = s.n,
          .vocab = s.n,
          .chunk_rows = s.rows,
          .act = act};
}

Values rounded(const Values& values, DType dtype) {
  return Buffer::of(dtype, {static_cast<std::int64_t>(values.size())}, values).values();
}

Values activated(Activation activation, const Values& in) {
  Values out = in;
  for (double& x : out) x = reference::activated(activation, x);
  return out;
}

/// Checks a linear layer with each activation. `want`: its argument.
void check_activations(Bench& bench, const Linear& plain, const Values& want) {
  const DType act = plain.in.dtype;
  Buffer out(act, plain.out.shape), pre(act, plain.out.shape), from_pre(act, plain.out.shape);
  for (const Activation activation : reference::kPlainActivations) {
    CAPTURE(name_of(activation));
    Linear op = plain;
    op.out = out.tensor();
    op.pre = pre.tensor();
    op.epilogue = Linear::Epilogue::activation;
    op.activation = activation;
    bench.run(op);
    check_close("pre", pre, want, act);
    check_close("out", out, activated(activation, pre.values()), act);
    bench.run(Activate{.in = pre.view(), .out = from_pre.tensor(), .activation = activation});
    // A fused GELU uses the unrounded `pre`, so only unfused results must have the same bits.
    const bool fused = bench.kernels().arithmetic().find("fused") != std::string::npos &&
                       activation == Activation::gelu_tanh;
    if (!fused) CHECK((from_pre.bits() == out.bits()));
  }
}

}  // namespace

TEST_CASE("linear: forward, activations, input gradient, weight and bias gradient") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Sizes& s : kLinearSizes) {
      CAPTURE(s.rows);
      CAPTURE(s.k);
      CAPTURE(s.n);
      Bench bench(subject.options, extents_of(s, act));
      Buffer in = random_buffer(act, {s.rows, s.k}, 1), weight = random_buffer(act, {s.k, s.n}, 2);
      Buffer bias = random_buffer(act, {s.n}, 3), dout = random_buffer(act, {s.rows, s.n}, 4);
      Buffer out(act, {s.rows, s.n}), din(act, {s.rows, s.k});
      const auto k = static_cast<std::size_t>(s.k), n = static_cast<std::size_t>(s.n),
                 rows = static_cast<std::size_t>(s.rows);
      const Values want = reference::linear(in.values(), weight.values(), bias.values(), k);

      const Linear forward{
          .in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()};
      bench.run(forward);
      check_close("out", out, want, act);
      check_activations(bench, forward, want);
      bench.run(
          LinearBackwardInput{.dout = dout.view(), .weight = weight.view(), .din = din.tensor()});
      check_close("din", din,
                  reference::product(dout.values(), reference::transposed(weight.values(), k, n),
                                     rows, n, k),
                  act);

      Buffer dweight(DType::f32, {s.k, s.n}), dbias(DType::f32, {s.n});
      Values want_weight = reference::product(reference::transposed(in.values(), rows, k),
                                              dout.values(), k, rows, n);
      Values want_bias = reference::column_sums(dout.values(), n);
      const LinearBackwardWeight op{.in = in.view(),
                                    .dout = dout.view(),
                                    .dweight = dweight.tensor(),
                                    .dbias = dbias.tensor()};
      bench.run(op);
      // Gradients are f32 sums of exact products: nothing is rounded to bf16.
      check_close("dweight", dweight, want_weight, DType::f32);
      check_close("dbias", dbias, want_bias, DType::f32);
      LinearBackwardWeight again = op;
      again.accumulate = true;
      bench.run(again);
      for (double& x : want_weight) x *= 2;
      for (double& x : want_bias) x *= 2;
      check_close("dweight twice", dweight, want_weight, DType::f32);
      check_close("dbias twice", dbias, want_bias, DType::f32);
    }
  });
}

TEST_CASE("linear: the heads epilogue moves every element to (S, B, H, T, D)") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const std::int64_t depth : {64, 24, 5, 80}) {
      const std::int64_t batch = 3, heads = 3, time = 100, k = 32, n = 3 * heads * depth,
                         rows = batch * time;
      Bench bench(subject.options, extents_of({rows, k, n}, act));
      Buffer in = random_buffer(act, {rows, k}, 1), weight = random_buffer(act, {k, n}, 2);
      Buffer bias = random_buffer(act, {n}, 3);
      Buffer plain(act, {rows, n}), out(act, {3, batch, heads, time, depth});
      Linear op{
          .in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = plain.tensor()};
      bench.run(op);
      op.out = out.tensor();
      op.epilogue = Linear::Epilogue::heads;
      bench.run(op);
      const Values flat = plain.values(), moved = out.values();
      bool same = true;
      for (std::int64_t i = 0; i < rows * n; ++i) {
        const std::int64_t row = i / n, column = i % n;
        const std::int64_t s = column / (heads * depth), h = column / depth % heads,
                           d = column % depth;
        const std::int64_t to =
            (((s * batch + row / time) * heads + h) * time + row % time) * depth + d;
        same = same && flat[static_cast<std::size_t>(i)] == moved[static_cast<std::size_t>(to)];
      }
      CHECK(same);
    }
  });
}

TEST_CASE("layer norm: forward with residual, backward with residual, accumulation") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const auto& [rows, width] : {std::pair{70, 48}, {5, 33}, {1, 16}, {130, 768}, {3, 7}}) {
      CAPTURE(width);
      Bench bench(subject.options, extents_of({rows, width, width}, act));
      Buffer in = random_buffer(act, {rows, width}, 1, 3),
             delta = random_buffer(act, {rows, width}, 2);
      Buffer weight = random_buffer(act, {width}, 3), bias = random_buffer(act, {width}, 4);
      Buffer sum(act, {rows, width}), out(act, {rows, width});
      Buffer mean(DType::f32, {rows}), rstd(DType::f32, {rows});
      bench.run(LayerNorm{.in = in.view(),
                          .delta = delta.view(),
                          .weight = weight.view(),
                          .bias = bias.view(),
                          .sum = sum.tensor(),
                          .out = out.tensor(),
                          .mean = mean.tensor(),
                          .rstd = rstd.tensor()});
      Values total = in.values();
      const Values more = delta.values();
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += more[i];
      check_close("sum", sum, total, act);
      const reference::Norm want = reference::layer_norm(sum.values(), weight.values(),
                                                         bias.values(), static_cast<double>(1e-5F));
      check_close("out", out, want.out, act);
      check_close("rstd", rstd, want.rstd, DType::f32);

      Buffer dout = random_buffer(act, {rows, width}, 5),
             residual = random_buffer(act, {rows, width}, 6);
      Buffer din(act, {rows, width}), dweight(DType::f32, {width}), dbias(DType::f32, {width});
      reference::NormGradient g = reference::layer_norm_backward(
          dout.values(), sum.values(), weight.values(), static_cast<double>(1e-5F));
      const Values extra = residual.values();
      for (std::size_t i = 0; i < extra.size(); ++i) g.din[i] += extra[i];
      LayerNormBackward op{.dout = dout.view(),
                           .in = sum.view(),
                           .weight = weight.view(),
                           .mean = mean.view(),
                           .rstd = rstd.view(),
                           .dresidual = residual.view(),
                           .din = din.tensor(),
                           .dweight = dweight.tensor(),
                           .dbias = dbias.tensor()};
      bench.run(op);
      check_close("din", din, g.din, act);
      check_close("dweight", dweight, g.dweight, DType::f32);
      check_close("dbias", dbias, g.dbias, DType::f32);
      op.accumulate = true;
      op.din = residual.tensor();  // in place
      bench.run(op);
      CHECK(residual.bits() == din.bits());
      for (double& x : g.dweight) x *= 2;
      check_close("dweight twice", dweight, g.dweight, DType::f32);
    }
  });
}

TEST_CASE("embedding: forward, and backward with repeated tokens") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t vocab = 11, time = 6, batch = 4, width = 70, rows = batch * time;
    Bench bench(subject.options, extents_of({rows, width, width}, act));
    Buffer wte = random_buffer(act, {vocab, width}, 1), wpe = random_buffer(act, {time, width}, 2);
    Buffer out(act, {rows, width}), dout = random_buffer(act, {rows, width}, 3);
    Buffer dwte = random_buffer(DType::f32, {vocab, width}, 4), dwpe(DType::f32, {time, width});
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < rows; ++i)
      tokens.push_back(static_cast<std::int32_t>(i * 7 % vocab / 2));
    const Values a = wte.values(), b = wpe.values(), d = dout.values();
    Values want(static_cast<std::size_t>(rows * width)),
        want_te = dwte.values(), want_pe(static_cast<std::size_t>(time * width));
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t row = i / width, c = i % width;
      const auto te = static_cast<std::size_t>(tokens[static_cast<std::size_t>(row)] * width + c);
      const auto pe = static_cast<std::size_t>(row % time * width + c);
      want[at] = a[te] + b[pe];
      want_te[te] += d[at];
      want_pe[pe] += d[at];
    }
    const ConstTensor ids{tokens.data(), DType::i32, {rows}};
    bench.run(Embed{.tokens = ids, .wte = wte.view(), .wpe = wpe.view(), .out = out.tensor()});
    check_close("out", out, want, act);
    bench.run(EmbedBackward{.tokens = ids,
                            .dout = dout.view(),
                            .dwte = dwte.tensor(),
                            .dwpe = dwpe.tensor(),
                            .accumulate_wte = true});
    check_close("dwte", dwte, want_te, DType::f32);
    check_close("dwpe", dwpe, want_pe, DType::f32);

    std::vector<std::int32_t> numbers;  // some positions often, some never
    for (std::int64_t i = 0; i < rows; ++i)
      numbers.push_back(static_cast<std::int32_t>(i * i % (time - 1)));
    Values want_more = dwpe.values();
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t row = i / width, c = i % width;
      const auto te = static_cast<std::size_t>(tokens[static_cast<std::size_t>(row)] * width + c);
      const auto pe = static_cast<std::size_t>(numbers[static_cast<std::size_t>(row)] * width + c);
      want[at] = a[te] + b[pe];
      want_more[pe] += d[at];
    }
    const ConstTensor positions{numbers.data(), DType::i32, {rows}};
    bench.run(Embed{.tokens = ids,
                    .wte = wte.view(),
                    .wpe = wpe.view(),
                    .positions = positions,
                    .out = out.tensor()});
    check_close("out with positions", out, want, act);
    EmbedBackward backward{.tokens = ids,
                           .dout = dout.view(),
                           .positions = positions,
                           .dwte = dwte.tensor(),
                           .dwpe = dwpe.tensor(),
                           .accumulate_wpe = true};
    bench.run(backward);
    check_close("dwpe added with positions", dwpe, want_more, DType::f32);
    for (std::size_t i = 0; i < want_pe.size(); ++i) want_more[i] -= want_pe[i];
    backward.accumulate_wpe = false;
    bench.run(backward);
    check_close("dwpe with positions", dwpe, want_more, DType::f32);
  });
}

TEST_CASE("activations' gradients, sums and casts") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t n = 1003;
    Bench bench(subject.options, extents_of({1, 1, 1}, act));
    Buffer pre = random_buffer(act, {n}, 1, 6), dout = random_buffer(act, {n}, 2), din(act, {n}),
           sum(act, {n});
    const Values x = pre.values(), d = dout.values();
    for (const Activation activation : reference::kPlainActivations) {
      CAPTURE(name_of(activation));
      bench.run(ActivateBackward{
          .pre = pre.view(), .dout = dout.view(), .din = din.tensor(), .activation = activation});
      Values want = d;
      for (std::size_t i = 0; i < want.size(); ++i) {
        want[i] *= reference::slope_of(activation, x[i]);
      }
      check_close("din", din, want, act);
    }
    bench.run(Add{.a = pre.view(), .b = dout.view(), .out = sum.tensor()});
    Values total = x;
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += d[i];
    check_close("sum", sum, total, act);
    for (const DType to : kActTypes) {
      if (act != DType::f32 && to != DType::f32 && to != act) continue;
      Buffer other(to, {n});
      bench.run(Cast{.in = pre.view(), .out = other.tensor()});
      CHECK(other.values() == rounded(pre.values(), to));
    }
  });
}

// The tail's polynomial, its Horner steps, the division and e^(-x^2 / 2), whose argument is rounded
// once (2^-24 * x^2 / 2 of its result: 6e-8 * 13 at x = -5), lose at most 1e-6 of each value.
TEST_CASE("GELU with erf: every value and slope is near the exact one, also far below 0") {
  for_each_subject([](const Subject& subject, DType act) {
    if (act != DType::f32) return;
    const std::int64_t n = 2001;
    Bench bench(subject.options, extents_of({1, 1, 1}, act));
    Values x(n);
    for (std::int64_t i = 0; i < n; ++i)
      x[static_cast<std::size_t>(i)] = 0.006 * static_cast<double>(i - 1000) + 1;
    Buffer in = Buffer::of(act, {n}, x), ones = Buffer::of(act, {n}, Values(n, 1.0));
    Buffer out(act, {n}), slope(act, {n});
    bench.run(Activate{.in = in.view(), .out = out.tensor(), .activation = Activation::gelu_erf});
    bench.run(ActivateBackward{.pre = in.view(),
                               .dout = ones.view(),
                               .din = slope.tensor(),
                               .activation = Activation::gelu_erf});
    const Values at = in.values(), got = out.values(), slopes = slope.values();
    double worst = 0, worst_slope = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double want = reference::activated(Activation::gelu_erf, at[i]);
      if (want != 0) worst = std::max(worst, std::abs(got[i] / want - 1));
      worst_slope = std::max(
          worst_slope, std::abs(slopes[i] - reference::slope_of(Activation::gelu_erf, at[i])));
    }
    CHECK(worst <= 1e-6);
    CHECK(worst_slope <= 4e-7);
    for (const float extreme : {1e30F, -1e30F, 0.0F}) {
      Buffer one = Buffer::of(act, {1}, {static_cast<double>(extreme)}), to(act, {1});
      for (const Activation activation : reference::kPlainActivations) {
        if (activation == Activation::finite) continue;
        bench.run(Activate{.in = one.view(), .out = to.tensor(), .activation = activation});
        CHECK(to.values()[0] == static_cast<double>(std::max(extreme, 0.0F)));
      }
    }
  });
}

TEST_CASE("finite: infinity becomes 64504, and no gradient passes there; NaN stays") {
  for_each_subject([](const Subject& subject, DType act) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Values x{1, -3, kInfinity, -kInfinity, 65504, -65504, 0, std::nan("")};
    Bench bench(subject.options, extents_of({1, 1, 1}, act));
    const auto n = static_cast<std::int64_t>(x.size());
    Buffer in = Buffer::of(act, {n}, x), ones = Buffer::of(act, {n}, Values(x.size(), 1.0));
    Buffer out(act, {n}), slope(act, {n});
    bench.run(Activate{.in = in.view(), .out = out.tensor(), .activation = Activation::finite});
    bench.run(ActivateBackward{.pre = in.view(),
                               .dout = ones.view(),
                               .din = slope.tensor(),
                               .activation = Activation::finite});
    const Values at = in.values(), got = out.values(), slopes = slope.values();
    const double most = Buffer::of(act, {1}, {64504}).values()[0];  // rounded to the type
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      CAPTURE(at[i]);
      const bool is_cut = std::abs(at[i]) > 65504;
      CHECK(got[i] == (is_cut ? std::copysign(most, at[i]) : at[i]));
      CHECK(slopes[i] == (is_cut ? 0 : 1));
    }
    CHECK(std::isnan(got.back()));
  });
}

TEST_CASE("the matrix peak is plausible for the device") {
  if (on_accelerator()) return;  // cuda_products_test covers it
  for_each_subject([](const Subject& subject, DType act) {
    Bench bench(subject.options, {.micro = 1,
                                  .seq_len = 1,
                                  .width = 8,
                                  .heads = 1,
                                  .ffn = 1,
                                  .vocab = 1,
                                  .chunk_rows = 1,
                                  .act = act});
    const double peak = bench.kernels().measure_matrix_peak(act);
    CHECK(peak > 1e6);
    CHECK(peak < 1e15);
  });
}

TEST_CASE("no product falls back to a slow implementation") {
  for_each_subject([](const Subject& subject, DType act) {
    Bench bench(subject.options, {.micro = 1,
                                  .seq_len = 129,
                                  .width = 48,
                                  .heads = 2,
                                  .ffn = 1,
                                  .vocab = 1,
                                  .chunk_rows = 1,
                                  .act = act});
    Buffer qkv = random_buffer(act, {3, 1, 2, 129, 24}, 1), out(act, {129, 48}),
           lse(DType::f32, {1, 2, 129});
    bench.run(Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor()});
    Buffer weight = random_buffer(act, {48, 7}, 2), bias = random_buffer(act, {7}, 3),
           more(act, {129, 7});
    bench.run(Linear{
        .in = out.view(), .weight = weight.view(), .bias = bias.view(), .out = more.tensor()});
    const char* limit = std::getenv("DNNL_MAX_CPU_ISA");
    const bool blocks =
        __builtin_cpu_supports("avx512bw") && (limit == nullptr || std::string(limit) != "AVX2");
    const std::vector<std::string> names = bench.kernels().product_implementations();
    CHECK(names.size() >= (subject.options.accelerator ? 1 : 3));
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(name.rfind("ref", 0) != 0);
      if (subject.options.accelerator) std::printf("implementation: %s\n", name.c_str());
      if (blocks && !subject.options.accelerator) CHECK(name.rfind("brg", 0) == 0);
    }
  });
}

}  // namespace ds::conformance
