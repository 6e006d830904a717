// Measures the best rate of a plain matrix product, for the plan and for fractions of peak.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/products.h"
#include "engine/kernels/cuda/stopwatch.h"

namespace ds::cuda {
namespace {

constexpr std::int64_t kLargest = 8192, kSmallest = 256;
constexpr float kEnoughMs = 0.8F;  // of one product: launch overhead no longer matters
constexpr int kRounds = 5;
constexpr float kRoundMs = 30;

class DeviceMemory {
 public:
  explicit DeviceMemory(std::int64_t bytes) {
    check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)),
          "allocating memory for a measurement");
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Returns the memory of two operands, an f32 result, and scratch.
std::size_t bytes_for(std::int64_t size, DType type) {
  return static_cast<std::size_t>(size * size * (2 * size_of(type) + size_of(DType::f32)) +
                                  kProductWorkspace);
}

/// Returns whether `bytes` are free: a job's plan may leave less than the measurement needs.
bool fits(std::size_t bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "getting the GPU's free memory");
  return bytes <= free;
}

/// Fills with normal numbers. On zeros a device multiplies faster than any training could, because
/// it draws less power.
void fill(Context& c, void* to, DType type, void* f32, std::int64_t n, std::uint64_t key,
          cudaStream_t stream) {
  const bool direct = type == DType::f32;
  const Tensor numbers{direct ? to : f32, DType::f32, {n}};
  run(c, FillNormal{.out = numbers, .key = key}, stream);
  if (!direct) run(c, Cast{.in = numbers, .out = {to, type, {n}}}, stream);
}

}  // namespace

double measure_matrix_peak(Context& c, DType type, cudaStream_t stream) {
  Stopwatch watch;
  double best = 0;
  if (!fits(bytes_for(kSmallest, type))) return 0;
  for (std::int64_t size = kSmallest; size <= kLargest; size *= 2) {
    const std::int64_t n = size * size;
    // The result's memory first holds the f32 numbers that the operands are converted from.
    const DeviceMemory a(n * size_of(type)), b(n * size_of(type)), out(n * size_of(DType::f32)),
        workspace(kProductWorkspace);
    fill(c, a.get(), type, out.get(), n, 1, stream);
    fill(c, b.get(), type, out.get(), n, 2, stream);
    const auto multiply_once = [&] {
      multiply(c,
               {.m = size,
                .n = size,
                .k = size,
                .type = type,
                .out_type = type,
                .a = {a.get(), size},
                .b = {b.get(), size, true},
                .out = out.get(),
                .out_row_length = size},
               static_cast<std::byte*>(workspace.get()), stream);
    };
    multiply_once();  // chooses the algorithm
    const float once = watch.milliseconds(stream, multiply_once);
    if (once < kEnoughMs && size < kLargest && fits(bytes_for(2 * size, type))) continue;
    const int times = std::clamp(static_cast<int>(kRoundMs / once), 1, 1000);
    for (int round = 0; round < kRounds; ++round) {
      const float ms = watch.milliseconds(stream, [&] {
        for (int i = 0; i < times; ++i) multiply_once();
      });
      const double flop = 2.0 * static_cast<double>(n) * static_cast<double>(size) * times;
      best = std::max(best, flop / (static_cast<double>(ms) * 1e-3));
    }
    check(cudaStreamSynchronize(stream), "timing");
    return best;
  }
  return best;
}

}  // namespace ds::cuda
