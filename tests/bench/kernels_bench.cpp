// Times every kernel of one GPT-2 124 M step (or another shape) and adds them up by kind, against
// the matrix peak measured in the same run. Usage: kernels_bench [threads [f32|bf16 [124m|small
// [FILTER]]]]; FILTER is a kind, or part of the names of the kernels to time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/kernels/kernels.h"

namespace {

using namespace ds;
using BenchClock = std::chrono::steady_clock;

struct Model {
  std::int64_t batch, time, width, heads, layers, vocab, chunk;
  DType act;
};

constexpr std::size_t kArenaBytes = std::size_t{5} << 30;

struct Spent {
  double wall = 0, cpu = 0;
};

/// CPU time of all threads: on a busy machine it says more than the clock on the wall.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Bench {
 public:
  Bench(const Model& model, int threads)
      : m_(model), backend_(make_cpu_backend({.threads = threads})) {
    stream_ = backend_.device->make_stream();
    const std::size_t bytes = backend_.kernels->workspace_bytes({.micro = m_.batch,
                                                                 .seq_len = m_.time,
                                                                 .width = m_.width,
                                                                 .heads = m_.heads,
                                                                 .ffn = 4 * m_.width,
                                                                 .vocab = m_.vocab,
                                                                 .chunk_rows = m_.chunk,
                                                                 .act = m_.act});
    arena_ = backend_.device->allocate(Tier::device, kArenaBytes);
    backend_.kernels->set_workspace(take(bytes), bytes);
    peak_ = backend_.kernels->measure_matrix_peak(m_.act);
    fmt::print("{}; workspace {:.1f} MB; peak {:.0f} GFLOP/s\n", backend_.device->description(),
               static_cast<double>(bytes) * 1e-6, peak_ * 1e-9);
  }

  Tensor make(DType type, Shape shape) {
    const auto bytes = static_cast<std::size_t>(shape.elements() * size_of(type));
    Tensor tensor{take(bytes), type, shape};
    if (type == DType::f32 || type == DType::bf16) {
      Tensor noise{tensor.data, DType::f32, {static_cast<std::int64_t>(bytes / 4)}};
      if (type == DType::f32) {
        backend_.kernels->run(FillNormal{.out = noise, .standard_deviation = 0.02F, .seed = 1},
                              *stream_);
      } else {
        std::memset(tensor.data, 0x3C, bytes);  // 0.0115: never denormal, never large
      }
    } else {
      std::memset(tensor.data, 0, bytes);
    }
    return tensor;
  }

  /// Median of several runs, added to `kind` `count` times.
  template <class Op>
  void time(const char* kind, const std::string& name, const Op& op, double flops,
            std::int64_t count) {
    if (name.find(filter_) == std::string::npos && filter_ != kind) return;
    backend_.kernels->run(op, *stream_);
    std::vector<double> seconds, cpu;
    const auto end = BenchClock::now() + std::chrono::milliseconds(150);
    while (seconds.size() < 5 || (BenchClock::now() < end && seconds.size() < 200)) {
      const auto start = BenchClock::now();
      const double cpu_start = cpu_seconds();
      backend_.kernels->run(op, *stream_);
      cpu.push_back(cpu_seconds() - cpu_start);
      seconds.push_back(std::chrono::duration<double>(BenchClock::now() - start).count());
    }
    std::sort(seconds.begin(), seconds.end());
    std::sort(cpu.begin(), cpu.end());
    const double median = seconds[seconds.size() / 2], work = cpu[cpu.size() / 2];
    totals_[kind].wall += median * static_cast<double>(count);
    totals_[kind].cpu += work * static_cast<double>(count);
    fmt::print("{:10} {:24} {:8.3f} ms, CPU {:8.3f} ms", kind, name, median * 1e3, work * 1e3);
    if (flops > 0) {
      fmt::print("  {:5.0f} GFLOP/s, {:3.0f} % of peak; {:4.0f} a CPU second",
                 flops / median * 1e-9, 100 * flops / median / peak_, flops / work * 1e-9);
    }
    fmt::print("\n");
  }

  void summary() {
    peak_ = std::max(peak_, backend_.kernels->measure_matrix_peak(m_.act));
    Spent all;
    for (const auto& [kind, spent] : totals_) {
      fmt::print("total {:10} {:7.1f} ms, CPU {:7.1f} ms\n", kind, spent.wall * 1e3,
                 spent.cpu * 1e3);
      all.wall += spent.wall;
      all.cpu += spent.cpu;
    }
    fmt::print(
        "total step       {:7.1f} ms, CPU {:7.1f} ms; {:.0f} tokens/s; peak {:.0f} GFLOP/s\n",
        all.wall * 1e3, all.cpu * 1e3, static_cast<double>(m_.batch * m_.time) / all.wall,
        peak_ * 1e-9);
  }

  Model m_;
  std::string filter_;

 private:
  std::byte* take(std::size_t bytes) {
    std::byte* piece = arena_->data() + used_;
    used_ += (bytes + 255) / 256 * 256;
    if (used_ > kArenaBytes) std::abort();
    return piece;
  }

  Backend backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;  // one, as in training: it decides which pages the memory lies in
  std::size_t used_ = 0;
  std::map<std::string, Spent> totals_;
  double peak_ = 0;
};

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
  for (std::int64_t b = 0; b < bench.m_.batch; ++b) {
    static_cast<std::int64_t*>(samples.data)[b] = b;
  }
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
  // Of the embeddings and both branches of every block, forward and backward.
  bench.time("with dropout", "activations", Dropout{.in = out, .draw = draw, .out = out}, 0,
             2 * (2 * m.layers + 1));
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
  const Tensor sum = bench.make(DType::f64, {1}), bad = bench.make(DType::i64, {1});
  bench.time("optimizer", "squared sum", SquaredSum{.in = grad, .sum = sum, .non_finite = bad}, 0,
             1);
  bench.time(
      "optimizer", fmt::format("AdamW, {:.0f} M", static_cast<double>(n) * 1e-6),
      OptimizerUpdate{
          .grad = grad, .master = master, .m = first, .v = second, .weights = weights, .lr = 1e-4F},
      0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  const DType act = argc > 2 && std::string(argv[2]) == "f32" ? DType::f32 : DType::bf16;
  const bool small = argc > 3 && std::string(argv[3]) == "small";
  Bench bench(small ? Model{16, 256, 384, 6, 6, 256, 512, act}
                    : Model{4, 256, 768, 12, 12, 50304, 512, act},
              threads);
  if (argc > 4) bench.filter_ = argv[4];
  const std::int64_t width = bench.m_.width;
  linear(bench, "qkv", width, 3 * width, Linear::Epilogue::heads);
  linear(bench, "projection", width, width, Linear::Epilogue::none);
  linear(bench, "up", width, 4 * width, Linear::Epilogue::gelu);
  linear(bench, "down", 4 * width, width, Linear::Epilogue::none);
  attention(bench);
  memory_bound(bench);
  head(bench);
  optimizer(bench);
  bench.summary();
  return 0;
}
