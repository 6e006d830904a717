// Tests blocks of fibers: positions, barriers, warp functions, shared memory, detected errors.
#include <doctest/doctest.h>

#include <dynamic_shared.cuh>
#include <string>
#include <thread>

#include "launch.h"

namespace ds::test {
namespace {

__global__ void number_threads(int* out) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = static_cast<int>(block * 1000 + thread);
}

/// Sums the block by a tree in shared memory.
__global__ void tree_sum(const float* in, float* out) {
  __shared__ float parts[256];
  parts[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

/// Reads the neighbor's value, with or without the barrier between writing and reading.
__global__ void neighbour(int* out, bool with_barrier) {
  int* const values = ds::cuda::dynamic_shared<int>();
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (with_barrier) __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
}

__global__ void warp_functions(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = lane;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, step);
  int* const own = out + threadIdx.x * 8;
  own[0] = sum;
  own[1] = __shfl_sync(0xFFFFFFFFU, lane, lane + 1, 8);
  own[2] = __shfl_up_sync(0xFFFFFFFFU, lane, 3);
  own[3] = __shfl_down_sync(0xFFFFFFFFU, lane, 2, 16);
  own[4] = static_cast<int>(__ballot_sync(0xFFFFFFFFU, lane % 2));
  own[5] = __reduce_add_sync(0xFFFFFFFFU, lane);
  own[6] = static_cast<int>(__shfl_sync(0xFFFFFFFFU, 1.5 * lane, 4) * 2);
  own[7] = __syncthreads_count(lane == 3);
}

__global__ void half_returns(int* out) {
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void half_shuffles(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xFFFFFFFFU, 1, 0);
}
__global__ void different_warp_functions() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __ballot_sync(0xFFFFFFFFU, 1);
  }
}
__global__ void writes_behind(int* out, int at) { out[at] = 1; }
__global__ void writes_behind_shared() { ds::cuda::dynamic_shared<int>()[blockDim.x] = 1; }

__global__ void recursion(int* out, int depth) {
  volatile char local[4096];
  local[depth % 4096] = 1;
  if (depth > 0) recursion(out, depth - 1);
  *out = local[0];
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("every thread of every block runs once, at its position") {
  const dim3 grid(3, 2, 2), block(5, 2, 3);
  const DeviceArray<int> out(12 * 30);
  REQUIRE(launch(&number_threads, grid, block, 0, nullptr, out.data()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int b = 0; b < 12; ++b) {
    for (int t = 0; t < 30; ++t) CHECK(out[static_cast<std::size_t>(b * 30 + t)] == b * 1000 + t);
  }
}

TEST_CASE("barriers of a block") {
  const DeviceArray<float> in(1024), out(4);
  for (std::size_t i = 0; i < 1024; ++i) in[i] = static_cast<float>(i);
  REQUIRE(launch(&tree_sum, 4, 256, 0, nullptr, in.data(), out.data()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (std::size_t b = 0; b < 4; ++b) {
    CHECK(out[b] == 256 * (static_cast<float>(b) * 256) + 255 * 128);
  }
}

TEST_CASE("a missing barrier is detected with some seed, a present one passes with every seed") {
  const DeviceArray<int> out(64);
  int wrong_without = 0, wrong_with = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    emulation::Knobs knobs;
    knobs.seed = seed;
    emulation::set_knobs(knobs);
    for (const bool with_barrier : {false, true}) {
      REQUIRE(launch(&neighbour, 1, 64, 256, nullptr, out.data(), with_barrier) == cudaSuccess);
      REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
      bool right = true;
      for (std::size_t i = 0; i < 64; ++i)
        right = right && out[i] == static_cast<int>((i + 1) % 64);
      (with_barrier ? wrong_with : wrong_without) += right ? 0 : 1;
    }
  }
  CHECK(wrong_without > 0);
  CHECK(wrong_with == 0);
}

TEST_CASE("warp functions") {
  const DeviceArray<int> out(64 * 8);
  REQUIRE(launch(&warp_functions, 1, 64, 0, nullptr, out.data()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int thread = 0; thread < 64; ++thread) {
    const int lane = thread % 32;
    const int* const own = out.data() + thread * 8;
    CHECK(own[0] == 496);
    CHECK(own[1] == lane / 8 * 8 + (lane + 1) % 8);
    CHECK(own[2] == (lane < 3 ? lane : lane - 3));
    CHECK(own[3] == (lane % 16 + 2 < 16 ? lane + 2 : lane));
    CHECK(own[4] == static_cast<int>(0xAAAAAAAAU));
    CHECK(own[5] == 496);
    CHECK(own[6] == 12);
    CHECK(own[7] == 2);
  }
}

// A launch may already return the kernel's fault.
TEST_CASE("threads that do not reach a barrier are named") {
  const DeviceArray<int> out(64);
  SUBCASE("returned before __syncthreads") {
    launch(&half_returns, 1, 64, 0, nullptr, out.data());
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "waits at __syncthreads()"));
    CHECK(contains(emulation::fault(), "it has returned"));
  }
  SUBCASE("returned before a shuffle") {
    launch(&half_shuffles, 1, 32, 0, nullptr, out.data());
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "waits at a warp function"));
  }
  SUBCASE("at another warp function") {
    launch(&different_warp_functions, 1, 32, 0, nullptr);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "diverged"));
  }
  CHECK(cudaPeekAtLastError() == cudaErrorLaunchFailure);  // ends the device
  emulation::reset_faults();
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("a fault in work that nobody waits for ends the device once") {
  const DeviceArray<int> out(64);
  launch(&half_returns, 1, 64, 0, nullptr, out.data());
  while (emulation::fault().empty()) std::this_thread::yield();
  CHECK(cudaPeekAtLastError() == cudaErrorLaunchFailure);
  CHECK(cudaStreamQuery(nullptr) == cudaErrorLaunchFailure);
  emulation::reset_faults();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("writes outside of memory are caught") {
  const DeviceArray<int> out(10);
  SUBCASE("behind an allocation") {
    launch(&writes_behind, 1, 1, 0, nullptr, out.data(), 10);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(contains(emulation::fault(), "0 bytes behind an allocation of 40 bytes"));
  }
  SUBCASE("before an allocation") {
    launch(&writes_behind, 1, 1, 0, nullptr, out.data(), -2);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(contains(emulation::fault(), "8 bytes before the start"));
  }
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer ends the process itself
  SUBCASE("in the page behind an allocation") {
    launch(&writes_behind, 1, 1, 0, nullptr, out.data(), 1100);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "writes_behind"));
    CHECK(contains(emulation::fault(), "unmapped memory"));
  }
  SUBCASE("below the stack") {
    launch(&recursion, 1, 1, 0, nullptr, out.data(), 10000);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "stack overflow"));
  }
#endif
  SUBCASE("behind dynamic shared memory") {
    launch(&writes_behind_shared, 1, 32, 128, nullptr);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(contains(emulation::fault(), "128 bytes of dynamic shared memory"));
  }
  SUBCASE("through a pointer to the host's memory") {
    int on_the_stack = 0;
    CHECK(launch(&writes_behind, 1, 1, 0, nullptr, &on_the_stack, 0) == cudaErrorIllegalAddress);
    CHECK(contains(emulation::fault(), "argument 0"));
  }
  emulation::reset_faults();
}

}  // namespace
}  // namespace ds::test
