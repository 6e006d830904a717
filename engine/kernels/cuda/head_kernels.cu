// Softmax, loss and gradient of the LM head's logits in one kernel, and the sum of the losses.
#include <dynamic_shared.cuh>

#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/head_kernels.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kMaxThreads = 512, kWarp = 32;
constexpr int kInFlight = 4;  // outstanding loads per thread
constexpr int kSumThreads = 1024;
constexpr float kLog2E = 1.44269504088896340736F;

/// Returns e^(x - top). For 16-bit logits it uses the device's own power of two, whose error their
/// rounding hides.
template <class T>
__device__ float exp_below(float x, float top) {
  if constexpr (sizeof(T) == 4) {
    return expf(x - top);
  } else {
    return exp2f(fmaf(x, kLog2E, -top * kLog2E));
  }
}

/// The largest of several numbers and the sum of e^(number - largest).
struct Softmax {
  float top, sum;
};

__device__ inline Softmax joined(Softmax a, Softmax b) {
  const float top = fmaxf(a.top, b.top);
  // Handles equal tops separately, also -inf where both are empty: -inf - -inf is NaN.
  const float left = a.top == top ? a.sum : a.sum * expf(a.top - top);
  const float right = b.top == top ? b.sum : b.sum * expf(b.top - top);
  return {top, left + right};
}

__device__ inline Softmax joined_over_warp(Softmax mine) {
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const Softmax other{__shfl_xor_sync(kAllLanes, mine.top, lanes),
                        __shfl_xor_sync(kAllLanes, mine.sum, lanes)};
    mine = joined(mine, other);
  }
  return mine;
}

template <class T>
using Words = Pack<T, kPackOf<T>>;

template <class T>
struct Row {
  Words<T>* data;
  Words<T>* staged;  // the first words, in shared memory; the rest is read again
  int staged_vectors;
  int vectors;  // words that hold valid columns
  int rest;     // valid columns of the last word; 0: all

  __device__ void valid_part(int v, const Words<T>& words, float (&x)[kPackOf<T>]) const {
    words.get(x);
    if (rest == 0 || v != vectors - 1) return;
#pragma unroll
    for (int i = 0; i < kPackOf<T>; ++i) x[i] = i < rest ? x[i] : -INFINITY;
  }
};

template <class T>
__device__ void add_vector(const float (&x)[kPackOf<T>], Softmax& mine) {
  float top = x[0];
#pragma unroll
  for (int i = 1; i < kPackOf<T>; ++i) top = fmaxf(top, x[i]);
  if (top > mine.top) {
    mine.sum *= exp_below<T>(mine.top, top);
    mine.top = top;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPackOf<T>; ++i) sum += exp_below<T>(x[i], mine.top);
  mine.sum += sum;
}

template <class T>
__device__ Softmax read_row(const Row<T>& row) {
  const int threads = static_cast<int>(blockDim.x);
  Softmax mine{-INFINITY, 0};
  for (int first = static_cast<int>(threadIdx.x); first < row.vectors;
       first += kInFlight * threads) {
    Words<T> words[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (first + j * threads < row.vectors) words[j] = row.data[first + j * threads];
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int v = first + j * threads;
      if (v >= row.vectors) break;
      if (v < row.staged_vectors) row.staged[v] = words[j];
      float x[kPackOf<T>];
      row.valid_part(v, words[j], x);
      add_vector<T>(x, mine);
    }
  }
  return mine;
}

template <class T>
__device__ void write_gradient(const Row<T>& row, float lse, int wanted, float scale) {
  for (int v = static_cast<int>(threadIdx.x); v < row.vectors; v += static_cast<int>(blockDim.x)) {
    float x[kPackOf<T>];
    row.valid_part(v, v < row.staged_vectors ? row.staged[v] : row.data[v], x);
#pragma unroll
    for (int i = 0; i < kPackOf<T>; ++i) x[i] = exp_below<T>(x[i], lse);
    if (v == wanted / kPackOf<T>) {
#pragma unroll
      for (int i = 0; i < kPackOf<T>; ++i) x[i] = i == wanted % kPackOf<T> ? x[i] - 1.0F : x[i];
    }
#pragma unroll
    for (int i = 0; i < kPackOf<T>; ++i) x[i] *= scale;
    row.data[v].set(x);
  }
}

/// Every thread combines the warps' results in the same order.
__device__ inline Softmax joined_over_block(Softmax mine) {
  __shared__ float tops[kMaxThreads / kWarp], sums[kMaxThreads / kWarp];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  mine = joined_over_warp(mine);
  if (lane == 0) {
    tops[warp] = mine.top;
    sums[warp] = mine.sum;
  }
  __syncthreads();
  const bool has = lane < blockDim.x / kWarp;
  return joined_over_warp({has ? tops[lane] : -INFINITY, has ? sums[lane] : 0.0F});
}

template <class T>
__device__ void write_zeros(Words<T>* row, int first, int end) {
  for (int v = first + static_cast<int>(threadIdx.x); v < end; v += static_cast<int>(blockDim.x)) {
    row[v] = Words<T>{};
  }
}

template <class T>
__global__ void softmax_rows(SoftmaxRows a, int staged_vectors) {
  T* const logits = static_cast<T*>(a.logits) + blockIdx.x * a.row_length;
  const int valid = static_cast<int>(a.valid_vocab);
  const int all = static_cast<int>(a.row_length) / kPackOf<T>;
  const Row<T> row{reinterpret_cast<Words<T>*>(logits), dynamic_shared<Words<T>>(), staged_vectors,
                   (valid + kPackOf<T> - 1) / kPackOf<T>, valid % kPackOf<T>};
  const int wanted = a.targets[blockIdx.x];
  if (wanted < 0) {
    if (threadIdx.x == 0) a.losses[blockIdx.x] = 0;
    if (a.gradient) write_zeros<T>(row.data, 0, all);
    return;
  }
  const float logit = threadIdx.x == 0 ? to_float(logits[wanted]) : 0.0F;
  const Softmax whole = joined_over_block(read_row(row));
  if (threadIdx.x == 0) {
    a.losses[blockIdx.x] = static_cast<double>(whole.top) + log(static_cast<double>(whole.sum)) -
                           static_cast<double>(logit);
  }
  if (!a.gradient) return;
  write_gradient(row, whole.top + logf(whole.sum), wanted, a.scale);
  write_zeros<T>(row.data, row.vectors, all);
}

__global__ void sum_losses(const double* losses, const std::int32_t* targets, std::int64_t rows,
                           double* loss, std::int64_t* count) {
  __shared__ double sums[kSumThreads];
  __shared__ int counts[kSumThreads];
  const unsigned t = threadIdx.x;
  double sum = 0;
  int counted = 0;
  for (std::int64_t r = t; r < rows; r += kSumThreads) {
    sum += losses[r];
    counted += targets[r] >= 0 ? 1 : 0;
  }
  sums[t] = sum;
  counts[t] = counted;
  for (unsigned half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) {
      sums[t] += sums[t + half];
      counts[t] += counts[t + half];
    }
  }
  if (t != 0) return;
  *loss = sums[0];
  *count = counts[0];
}

/// Returns a power of two with at least about four vectors per thread, from the row length alone.
int threads_for(std::int64_t vectors) {
  int threads = kWarp;
  while (threads < kMaxThreads && threads * 4 < vectors) threads *= 2;
  return threads;
}

/// Returns the shared memory of a block such that a multiprocessor holds two blocks: one loads
/// while the other computes.
std::int64_t shared_for_two(std::int64_t max_shared_bytes) {
  constexpr std::int64_t kReserved = 1 << 10;  // the system's share of each block
  constexpr std::int64_t kOwn = 2 * sizeof(float) * kMaxThreads / kWarp;
  const std::int64_t bytes = (max_shared_bytes + kReserved) / 2 - kReserved - kOwn;
  return bytes > 0 ? bytes : 0;
}

template <class T>
cudaError_t launch_typed(const SoftmaxRows& a, cudaStream_t stream) {
  constexpr std::int64_t kWord = sizeof(Words<T>);
  const std::int64_t vectors = (a.valid_vocab + kPackOf<T> - 1) / kPackOf<T>;
  const std::int64_t room = a.gradient ? shared_for_two(a.max_shared_bytes) / kWord : 0;
  const std::int64_t staged = room < vectors ? room : vectors;
  return launch(
      softmax_rows<T>,
      {dim3(static_cast<unsigned>(a.rows)), dim3(static_cast<unsigned>(threads_for(vectors))),
       static_cast<std::size_t>(staged * kWord)},
      stream, a, static_cast<int>(staged));
}

}  // namespace

cudaError_t launch_softmax_rows(Act act, const SoftmaxRows& a, cudaStream_t stream) {
  return with_act(
      act, [&](auto type) { return launch_typed<typename decltype(type)::Element>(a, stream); });
}

cudaError_t launch_sum_losses(const double* losses, const std::int32_t* targets, std::int64_t rows,
                              double* loss, std::int64_t* count, cudaStream_t stream) {
  return launch(sum_losses, {dim3(1), dim3(kSumThreads), 0}, stream, losses, targets, rows, loss,
                count);
}

}  // namespace ds::cuda
