// Bench: times single ops of one backend, with memory as in a training step.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernels/kernels.h"

namespace ds::bench {

using BenchClock = std::chrono::steady_clock;

struct Model {
  std::int64_t batch, time, width, heads, layers, vocab, chunk;
  DType act;
  std::size_t arena_mib = 5 << 10;
};

struct Spent {
  double wall = 0, cpu = 0;
};

/// Returns the CPU time of all threads, which says more than wall time on a busy machine.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Bench {
 public:
  Bench(const Model& model, Backend backend) : m_(model), backend_(std::move(backend)) {
    stream_ = backend_.device->make_stream();
    const std::size_t bytes = backend_.kernels->workspace_bytes({.micro = m_.batch,
                                                                 .seq_len = m_.time,
                                                                 .width = m_.width,
                                                                 .heads = m_.heads,
                                                                 .ffn = 4 * m_.width,
                                                                 .vocab = m_.vocab,
                                                                 .chunk_rows = m_.chunk,
                                                                 .head_sparse = true,
                                                                 .act = m_.act});
    arena_ = backend_.device->allocate(Tier::device, m_.arena_mib << 20);
    pinned_ = backend_.device->allocate(Tier::pinned_host, 1 << 24);
    noise_ = make(DType::f32, {1 << 16});
    backend_.kernels->set_workspace(take(bytes), bytes);
    peak_ = backend_.kernels->measure_matrix_peak(m_.act);
    fmt::print("{}; workspace {:.1f} MB; peak {:.0f} GFLOP/s\n", backend_.device->description(),
               static_cast<double>(bytes) * 1e-6, peak_ * 1e-9);
  }

  /// Returns a tensor of normal numbers; integers (in host memory) get always different values.
  Tensor make(DType type, Shape shape) {
    const auto bytes = static_cast<std::size_t>(shape.elements() * size_of(type));
    if (type == DType::f32) {
      Tensor tensor{take(bytes), type, shape};
      backend_.kernels->run(FillNormal{.out = tensor, .standard_deviation = 0.02F, .seed = 1},
                            *stream_);
      return tensor;
    }
    if (type == m_.act) {
      Tensor tensor{take(bytes), type, shape};
      for (std::int64_t at = 0; at < shape.elements(); at += noise_.elements()) {
        const Shape part{std::min(noise_.elements(), shape.elements() - at)};
        backend_.kernels->run(
            Cast{.in = {noise_.data, DType::f32, part},
                 .out = {static_cast<std::byte*>(tensor.data) + at * size_of(type), type, part}},
            *stream_);
      }
      return tensor;
    }
    std::byte* host = pinned_->data() + pinned_used_;
    pinned_used_ += (bytes + 255) / 256 * 256;
    if (pinned_used_ > pinned_->bytes()) std::abort();
    std::memset(host, 0, bytes);
    for (std::int64_t i = 0; type == DType::i32 && i < shape.elements(); ++i) {
      const auto token = static_cast<std::int32_t>(i * 7919 % m_.vocab);
      std::memcpy(host + 4 * i, &token, 4);
    }
    return {host, type, shape};
  }

  /// Times `op` by the median of several runs and adds it to `kind` `count` times.
  template <class Op>
  void time(const char* kind, const std::string& name, const Op& op, double flops,
            std::int64_t count) {
    if (name.find(filter_) == std::string::npos && filter_ != kind) return;
    backend_.kernels->run(op, *stream_);
    stream_->synchronize();
    // Launches on an accelerator are asynchronous, so several are timed together.
    const int times = backend_.device->is_host() ? 1 : 5;
    std::vector<double> seconds, cpu;
    const auto end = BenchClock::now() + std::chrono::milliseconds(150);
    while (seconds.size() < 5 || (BenchClock::now() < end && seconds.size() < 200)) {
      const auto start = BenchClock::now();
      const double cpu_start = cpu_seconds();
      for (int i = 0; i < times; ++i) backend_.kernels->run(op, *stream_);
      stream_->synchronize();
      cpu.push_back((cpu_seconds() - cpu_start) / times);
      seconds.push_back(std::chrono::duration<double>(BenchClock::now() - start).count() / times);
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
    if (used_ > arena_->bytes()) std::abort();
    return piece;
  }

  Backend backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena>
      arena_;  // one arena, as in training, because it decides on which pages the memory is
  std::unique_ptr<Arena> pinned_;
  std::size_t used_ = 0, pinned_used_ = 0;
  Tensor noise_;
  std::map<std::string, Spent> totals_;
  double peak_ = 0;
};

}  // namespace ds::bench
