// Compares the optimizer's pass (unscale, clip, AdamW, bf16 cast) with this machine's memory
// bandwidth: rounds of triad and update in turn on the same threads, with medians and spread.
// Usage: adamw_bench [threads [millions of parameters [rounds]]].
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/device/cpu/thread_pool.h"
#include "engine/kernels/kernels.h"

namespace {

using namespace ds;
using BenchClock = std::chrono::steady_clock;

// Bytes per parameter: gradient, master and both moments are read; the latter three and the weights
// are written. Weights bypass the caches, so none of their lines is read first.
constexpr double kUpdateBytes = 4 + 3 * 8 + 2;
constexpr double kSplitBytes = 4 + 2 * 8 + 2 * 4;
// a = b + s * c: two reads, one write, and the read of the written line that a plain store causes.
constexpr double kTriadBytes = 16;

struct Series {
  std::string name;
  double bytes;  // per element
  std::vector<double> seconds;

  [[nodiscard]] double quantile(double q) const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
  }
  [[nodiscard]] double rate(double n) const { return n / quantile(0.5); }
  void print(double n) const {
    fmt::print("{:<28} {:7.1f} M/s {:7.2f} GB/s   (quartiles {:.2f} .. {:.2f} GB/s, {} rounds)\n",
               name, rate(n) * 1e-6, rate(n) * bytes * 1e-9, n * bytes * 1e-9 / quantile(0.75),
               n * bytes * 1e-9 / quantile(0.25), seconds.size());
  }
};

// Prints the ratio of bandwidths per round, since other load affects both in the same round.
void print_ratio(const char* name, const Series& of, const Series& to) {
  Series ratio{"", 1, {}};
  for (std::size_t i = 0; i < of.seconds.size(); ++i) {
    ratio.seconds.push_back(of.bytes / of.seconds[i] / (to.bytes / to.seconds[i]));
  }
  fmt::print("{}: {:.2f} (quartiles {:.2f} .. {:.2f})\n", name, ratio.quantile(0.5),
             ratio.quantile(0.25), ratio.quantile(0.75));
}

[[gnu::target("avx512f")]] void triad_avx512(float* a, const float* b, const float* c, float s,
                                             std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 16) {
    _mm512_storeu_ps(
        a + i, _mm512_fmadd_ps(_mm512_set1_ps(s), _mm512_loadu_ps(c + i), _mm512_loadu_ps(b + i)));
  }
}
[[gnu::target("avx2,fma")]] void triad_avx2(float* a, const float* b, const float* c, float s,
                                            std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 8) {
    _mm256_storeu_ps(
        a + i, _mm256_fmadd_ps(_mm256_set1_ps(s), _mm256_loadu_ps(c + i), _mm256_loadu_ps(b + i)));
  }
}

template <class Body>
void measure(Series& series, Body body) {
  const auto start = BenchClock::now();
  body();
  series.seconds.push_back(std::chrono::duration<double>(BenchClock::now() - start).count());
}

struct Memory {
  std::unique_ptr<Arena> arena;
  std::size_t used = 0;

  Tensor take(DType type, std::int64_t n) {
    const std::size_t bytes = static_cast<std::size_t>(n * size_of(type));
    Tensor tensor{arena->data() + used, type, {n}};
    used += (bytes + 63) / 64 * 64 + 17 * 64;  // no two arrays start at the same offset in a page
    return tensor;
  }
};

/// Returns cuts around one leaf without decay after every 600 K elements, as biases and norms lie
/// in GPT-2's blocks.
std::vector<std::int64_t> cuts_of_small_tensors(std::int64_t n) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t at = 600 << 10; at + 1024 < n; at += 600 << 10) {
    cuts.push_back(at);
    cuts.push_back(at + 1024);
  }
  return cuts;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::int64_t n = (argc > 2 ? std::atoll(argv[2]) : 100) * (1 << 20);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 11;
  Backend backend = make_cpu_backend({.threads = threads});
  const auto stream = backend.device->make_stream();
  Memory memory{
      backend.device->allocate(Tier::device, static_cast<std::size_t>(n) * 20 + (1 << 20))};
  const Tensor grad = memory.take(DType::f32, n), master = memory.take(DType::f32, n);
  const Tensor m = memory.take(DType::f32, n), v = memory.take(DType::f32, n);
  const Tensor weights = memory.take(DType::bf16, n), low = memory.take(DType::i16, n);
  for (const Tensor& each : {grad, master, m}) {
    backend.kernels->run(FillNormal{.out = each, .standard_deviation = 0.02F, .key = 1}, *stream);
  }
  backend.kernels->run(FillNormal{.out = v, .mean = 1e-3F, .standard_deviation = 1e-5F}, *stream);
  const OptimizerUpdate whole{.grad = grad,
                              .master = master,
                              .m = m,
                              .v = v,
                              .weights = weights,
                              .numbers = {.grad_scale = 0.01F, .lr = 1e-4F, .weight_decay = 0.1F}};
  OptimizerUpdate by_tensor = whole;
  const std::vector<std::int64_t> cuts = cuts_of_small_tensors(n);
  by_tensor.decay_cuts = cuts;
  OptimizerUpdate split = whole;
  split.master = {};
  split.low = low;

  ThreadPool pool(threads, [] {});
  const auto triad = __builtin_cpu_supports("avx512f") ? triad_avx512 : triad_avx2;
  constexpr std::int64_t kPiece = 1 << 15;
  const auto run_triad = [&] {
    pool.parallel_for(n / kPiece, [&](std::int64_t piece, int) {
      const std::int64_t at = piece * kPiece;
      triad(static_cast<float*>(grad.data) + at, static_cast<float*>(master.data) + at,
            static_cast<float*>(m.data) + at, 0.5F, kPiece);
    });
  };
  Series stream_triad{"triad, write-allocate", kTriadBytes, {}};
  Series update{"AdamW + bf16 weights", kUpdateBytes, {}};
  Series tensors{"AdamW, decay by tensor", kUpdateBytes, {}};
  Series halves{"AdamW, master in two halves", kSplitBytes, {}};
  run_triad();
  for (int round = 0; round < rounds; ++round) {
    measure(stream_triad, run_triad);
    measure(update, [&] { backend.kernels->run(whole, *stream); });
    measure(tensors, [&] { backend.kernels->run(by_tensor, *stream); });
    measure(halves, [&] { backend.kernels->run(split, *stream); });
  }
  const auto count = static_cast<double>(n);
  fmt::print("{}; {} M parameters\n", backend.device->description(), n >> 20);
  for (const Series* series : {&stream_triad, &update, &tensors, &halves}) series->print(count);
  print_ratio("AdamW / triad", update, stream_triad);
  print_ratio("AdamW, decay by tensor / AdamW", tensors, update);
  print_ratio("AdamW, split master / triad", halves, stream_triad);
  return 0;
}
