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

Values gelu_of(const Values& in) {
  Values out = in;
  for (double& x : out) x = reference::gelu(x);
  return out;
}

}  // namespace

TEST_CASE("linear: forward, GELU, input gradient, weight and bias gradient") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Sizes& s : kLinearSizes) {
      CAPTURE(s.rows);
      CAPTURE(s.k);
      CAPTURE(s.n);
      Bench bench(subject.options, extents_of(s, act));
      Buffer in = random_buffer(act, {s.rows, s.k}, 1), weight = random_buffer(act, {s.k, s.n}, 2);
      Buffer bias = random_buffer(act, {s.n}, 3), dout = random_buffer(act, {s.rows, s.n}, 4);
      Buffer out(act, {s.rows, s.n}), pre(act, {s.rows, s.n}), din(act, {s.rows, s.k});
      const auto k = static_cast<std::size_t>(s.k), n = static_cast<std::size_t>(s.n),
                 rows = static_cast<std::size_t>(s.rows);
      const Values want = reference::linear(in.values(), weight.values(), bias.values(), k);

      bench.run(Linear{
          .in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()});
      check_close("out", out, want, act);
      bench.run(Linear{.in = in.view(),
                       .weight = weight.view(),
                       .bias = bias.view(),
                       .out = out.tensor(),
                       .pre = pre.tensor(),
                       .epilogue = Linear::Epilogue::gelu});
      check_close("pre", pre, want, act);
      check_close("gelu", out, gelu_of(pre.values()), act);
      Buffer again_from_pre(act, {s.rows, s.n});
      bench.run(Gelu{.in = pre.view(), .out = again_from_pre.tensor()});
      // A fused GELU uses the unrounded `pre`, so only unfused results must have the same bits.
      const bool fused = bench.kernels().arithmetic().find("fused") != std::string::npos;
      if (!fused) CHECK((again_from_pre.bits() == out.bits()));

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

TEST_CASE("GELU's gradient, sums and casts") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t n = 1003;
    Bench bench(subject.options, extents_of({1, 1, 1}, act));
    Buffer pre = random_buffer(act, {n}, 1, 6), dout = random_buffer(act, {n}, 2), din(act, {n}),
           sum(act, {n});
    bench.run(GeluBackward{.pre = pre.view(), .dout = dout.view(), .din = din.tensor()});
    bench.run(Add{.a = pre.view(), .b = dout.view(), .out = sum.tensor()});
    Values want = pre.values(), total = want;
    const Values d = dout.values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      total[i] += d[i];
      want[i] = reference::gelu_slope(want[i]) * d[i];
    }
    check_close("din", din, want, act);
    check_close("sum", sum, total, act);
    for (const DType to : kActTypes) {
      if (act != DType::f32 && to != DType::f32 && to != act) continue;
      Buffer other(to, {n});
      bench.run(Cast{.in = pre.view(), .out = other.tensor()});
      CHECK(other.values() == rounded(pre.values(), to));
    }
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
