// Times every kernel of one GPT-2 step and sums them by kind, compared with the matrix peak
// measured in the same run. Usage: kernels_bench [threads|cuda [f32|bf16
// [124m|small|tiny|1x1024|64x124m|16x1558m [FILTER]]]]; FILTER is a kind, or part of the names of
// the kernels to time. 1x1024: one row of GPT-2 124M with T 1024, for the kind "documents". 64x124m
// and 16x1558m are micro-batches for GPUs, T 1024; cuda: on the plugin's device.
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "bench/op_timer.h"
#include "engine/plugin/plugin.h"

namespace {

using namespace ds;         // NOLINT: a program
using namespace ds::bench;  // NOLINT

void linear(Bench& bench, const char* name, std::int64_t k, std::int64_t n,
            Linear::Epilogue epilogue) {
  const Model& m = bench.m_;
  const std::int64_t rows = m.batch * m.time;
  const double flops = 2.0 * static_cast<double>(rows * k * n);
  const Tensor in = bench.make(m.act, {rows, k}), weight = bench.make(m.act, {k, n});
  const Tensor bias = bench.make(m.act, {n}), pre = bench.make(m.act, {rows, n});
  const Tensor dweight = bench.make(DType::f32, {k, n}), dbias = bench.make(DType::f32, {n});
  const Shape heads{3, m.batch, m.heads, m.time, m.width / m.heads};
  const bool to_heads = epilogue == Linear::Epilogue::heads;
  const Tensor out = bench.make(m.act, to_heads ? heads : Shape{rows, n});
  const Tensor flat{out.data, m.act, {rows, n}};
  bench.time("gemm", fmt::format("{} forward", name),
             Linear{.in = in,
                    .weight = weight,
                    .bias = bias,
                    .out = out,
                    .pre = epilogue == Linear::Epilogue::gelu ? pre : Tensor{},
                    .epilogue = epilogue},
             flops, m.layers);
  bench.time("gemm", fmt::format("{} d input", name),
             LinearBackwardInput{.dout = flat, .weight = weight, .din = in}, flops, m.layers);
  bench.time("gemm", fmt::format("{} d weight", name),
             LinearBackwardWeight{.in = in, .dout = flat, .dweight = dweight, .dbias = dbias},
             flops, m.layers);
}

DropoutDraw draw_of(Bench& bench) {
  const Tensor samples = bench.make(DType::i64, {bench.m_.batch});
  auto* numbers = static_cast<std::int64_t*>(samples.data);
  std::iota(numbers, numbers + bench.m_.batch, std::int64_t{0});
  return {.samples = samples, .rate = 0.1F, .seed = 1, .key = 2, .step = 3};
}

void attention(Bench& bench) {
  const Model& m = bench.m_;
  const std::int64_t rows = m.batch * m.time;
  const Tensor qkv = bench.make(m.act, {3, m.batch, m.heads, m.time, m.width / m.heads});
  const Tensor out = bench.make(m.act, {rows, m.width}),
               lse = bench.make(DType::f32, {m.batch, m.heads, m.time});
  const Tensor dqkv = bench.make(m.act, {rows, 3 * m.width});
  bench.time("attention", "forward", Attention{.qkv = qkv, .out = out, .lse = lse}, 0, m.layers);
  bench.time("attention", "backward",
             AttentionBackward{.qkv = qkv, .out = out, .lse = lse, .dout = out, .dqkv = dqkv}, 0,
             m.layers);
  const DropoutDraw draw = draw_of(bench);
  bench.time("with dropout", "attention",
             Attention{.qkv = qkv, .out = out, .lse = lse, .dropout = draw}, 0, m.layers);
  bench.time("with dropout", "attention backward",
             AttentionBackward{
                 .qkv = qkv, .out = out, .lse = lse, .dout = out, .dqkv = dqkv, .dropout = draw},
             0, m.layers);
  // Dropout of the embeddings and of both branches of every block, forward and backward.
  bench.time("with dropout", "activations", Dropout{.in = out, .draw = draw, .out = out}, 0,
             2 * (2 * m.layers + 1));
}

/// Times the attention of rows of eight documents, and of the documents as rows of their own.
void documents(Bench& bench) {
  const Model& m = bench.m_;
  constexpr std::int64_t kDocuments = 8;
  const std::int64_t rows = m.batch * m.time, depth = m.width / m.heads;
  const Tensor memory = bench.make(m.act, {rows, 3 * m.width});
  const Tensor out = bench.make(m.act, {rows, m.width}), dqkv = bench.make(m.act, memory.shape);
  const Tensor lse = bench.make(DType::f32, {m.batch, m.heads, m.time});
  const Tensor numbers = bench.make(DType::i32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    static_cast<std::int32_t*>(numbers.data)[i] =
        static_cast<std::int32_t>(i % m.time * kDocuments / m.time);
  }
  const Tensor ranges = bench.make(DType::i32, {m.batch, m.time, 2});
  bench.time("documents", "ranges", KeyRanges{.documents = numbers, .ranges = ranges}, 0, 1);
  const Tensor row{memory.data, m.act, {3, m.batch, m.heads, m.time, depth}};
  const Tensor apart{
      memory.data, m.act, {3, m.batch * kDocuments, m.heads, m.time / kDocuments, depth}};
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& [name, qkv, seen] :
         {std::tuple{"in a row", row, ranges}, std::tuple{"apart", apart, Tensor{}}}) {
      bench.time("documents", fmt::format("{} forward", name),
                 Attention{.qkv = qkv, .ranges = seen, .out = out, .lse = lse}, 0, m.layers);
      bench.time("documents", fmt::format("{} backward", name),
                 AttentionBackward{
                     .qkv = qkv, .ranges = seen, .out = out, .lse = lse, .dout = out, .dqkv = dqkv},
                 0, m.layers);
    }
  }
}

void memory_bound(Bench& bench) {
  const Model& m = bench.m_;
  const std::int64_t rows = m.batch * m.time;
  const Tensor x = bench.make(m.act, {rows, m.width}), y = bench.make(m.act, {rows, m.width});
  const Tensor z = bench.make(m.act, {rows, m.width}), w = bench.make(m.act, {m.width});
  const Tensor mean = bench.make(DType::f32, {rows}), rstd = bench.make(DType::f32, {rows});
  const Tensor dw = bench.make(DType::f32, {m.width}), db = bench.make(DType::f32, {m.width});
  const Tensor wide = bench.make(m.act, {rows, 4 * m.width}),
               wider = bench.make(m.act, {rows, 4 * m.width});
  bench.time("memory", "layer norm",
             LayerNorm{.in = x,
                       .delta = y,
                       .weight = w,
                       .bias = w,
                       .sum = x,
                       .out = z,
                       .mean = mean,
                       .rstd = rstd},
             0, 2 * m.layers + 1);
  bench.time("memory", "layer norm backward",
             LayerNormBackward{.dout = z,
                               .in = x,
                               .weight = w,
                               .mean = mean,
                               .rstd = rstd,
                               .dresidual = y,
                               .din = y,
                               .dweight = dw,
                               .dbias = db},
             0, 2 * m.layers + 1);
  bench.time("memory", "GELU backward", GeluBackward{.pre = wide, .dout = wider, .din = wider}, 0,
             m.layers);
}

void head(Bench& bench) {
  const Model& m = bench.m_;
  const std::int64_t rows = m.batch * m.time;
  const Tensor in = bench.make(m.act, {rows, m.width}),
               weight = bench.make(m.act, {m.vocab, m.width});
  const Tensor targets = bench.make(DType::i32, {rows}),
               dweight = bench.make(DType::f32, {m.vocab, m.width});
  const Tensor loss = bench.make(DType::f64, {1}), count = bench.make(DType::i64, {1});
  const double flops = 2.0 * static_cast<double>(rows * m.width * m.vocab);
  const HeadLoss forward{.in = in,
                         .weight = weight,
                         .targets = targets,
                         .loss = loss,
                         .count = count,
                         .valid_vocab = m.vocab,
                         .chunk_rows = m.chunk};
  bench.time("head", "loss and gradient",
             HeadLossBackward{.forward = forward, .din = in, .dweight = dweight}, 3 * flops, 1);
  const Tensor wpe = bench.make(m.act, {m.time, m.width}),
               dwpe = bench.make(DType::f32, {m.time, m.width});
  bench.time("memory", "embedding", Embed{.tokens = targets, .wte = weight, .wpe = wpe, .out = in},
             0, 1);
  bench.time(
      "memory", "embedding backward",
      EmbedBackward{
          .tokens = targets, .dout = in, .dwte = dweight, .dwpe = dwpe, .accumulate_wte = true},
      0, 1);
}

void optimizer(Bench& bench) {
  const Model& m = bench.m_;
  const std::int64_t n = m.layers * 12 * m.width * m.width + m.vocab * m.width;
  const Tensor grad = bench.make(DType::f32, {n}), master = bench.make(DType::f32, {n});
  const Tensor first = bench.make(DType::f32, {n}), second = bench.make(DType::f32, {n});
  const Tensor weights = m.act == DType::f32 ? Tensor{} : bench.make(m.act, {n});
  const std::int64_t leaves = (n + 1023) / 1024;
  const Tensor sums = bench.make(DType::f64, {leaves}), bad = bench.make(DType::i64, {leaves});
  bench.time("optimizer", "leaf squares", LeafSquares{.in = grad, .sums = sums, .non_finite = bad},
             0, 1);
  bench.time("optimizer", fmt::format("AdamW, {:.0f} M", static_cast<double>(n) * 1e-6),
             OptimizerUpdate{.grad = grad,
                             .master = master,
                             .m = first,
                             .v = second,
                             .weights = weights,
                             .numbers = {.lr = 1e-4F}},
             0, 1);
}

Model model_of(const std::string& shape, DType act) {
  if (shape == "small") return {16, 256, 384, 6, 6, 256, 512, act};
  if (shape == "tiny") return {1, 16, 32, 2, 1, 256, 8, act, 64};
  if (shape == "1x1024") return {1, 1024, 768, 12, 12, 50304, 512, act};
  if (shape == "64x124m") return {64, 1024, 768, 12, 12, 50304, 8192, act, 30 << 10};
  if (shape == "16x1558m") return {16, 1024, 1600, 25, 48, 50304, 8192, act, 60 << 10};
  return {4, 256, 768, 12, 12, 50304, 512, act};
}

void run(const std::string& where, DType act, const std::string& shape, const std::string& filter) {
  Bench bench(model_of(shape, act), where == "cuda"
                                        ? open_cuda_plugin().make_backend(AcceleratorOptions{})
                                        : make_cpu_backend({.threads = std::stoi(where)}));
  bench.filter_ = filter;
  const std::int64_t width = bench.m_.width;
  linear(bench, "qkv", width, 3 * width, Linear::Epilogue::heads);
  linear(bench, "projection", width, width, Linear::Epilogue::none);
  linear(bench, "up", width, 4 * width, Linear::Epilogue::gelu);
  linear(bench, "down", 4 * width, width, Linear::Epilogue::none);
  attention(bench);
  if (filter == "documents") documents(bench);
  memory_bound(bench);
  head(bench);
  optimizer(bench);
  bench.summary();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto word = [&](std::size_t i, const char* otherwise) {
    return words.size() > i ? words[i] : std::string(otherwise);
  };
  try {
    run(word(0, "0"), word(1, "bf16") == "f32" ? DType::f32 : DType::bf16, word(2, "124m"),
        word(3, ""));
  } catch (const Error& error) {
    fmt::print(stderr, "kernels_bench: {}\n", error.for_people());
    return 1;
  }
  return 0;
}
