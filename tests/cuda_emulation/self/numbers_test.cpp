// Tests 16-bit types, products of tensor cores, copies into shared memory, and the sort.
#include <doctest/doctest.h>

#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <dynamic_shared.cuh>
#include <limits>
#include <tensor_core.cuh>
#include <vector>

#include "launch.h"

namespace ds::test {
namespace {

/// Returns whether `rounded` is the nearest 16-bit neighbor of `value`, found by trying.
template <class T>
bool is_nearest(float value, T rounded) {
  const double error = std::fabs(static_cast<double>(value) - static_cast<double>(float(rounded)));
  for (const int step : {-1, 1}) {
    const auto bits = static_cast<std::uint16_t>(rounded.bits + step);
    T other;
    other.bits = bits;
    const double otherwise =
        std::fabs(static_cast<double>(value) - static_cast<double>(float(other)));
    if (std::isnan(otherwise)) continue;
    if (otherwise < error || (otherwise == error && bits % 2 == 0)) return false;
  }
  return true;
}

template <class T>
void check_conversions() {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    T exact;
    exact.bits = static_cast<std::uint16_t>(bits);
    const float value = exact;
    if (std::isnan(value)) {
      wrong += std::isnan(float(T(value))) ? 0 : 1;
      continue;
    }
    wrong += T(value).bits == bits ? 0 : 1;
    if (std::isinf(value)) continue;
    // Halfway to the next value, and slightly beside it.
    T next;
    next.bits = static_cast<std::uint16_t>(bits + 1);
    if (!std::isfinite(float(next))) continue;
    const float half =
        static_cast<float>((static_cast<double>(value) + static_cast<double>(float(next))) / 2);
    for (const float x : {half, std::nextafter(half, 0.0F), std::nextafter(half, 1e38F)}) {
      wrong += is_nearest(x, T(x)) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(std::isinf(float(T(std::numeric_limits<float>::max()))));
}
TEST_CASE("16-bit types convert exactly to f32 and with rounding back") {
  check_conversions<__nv_bfloat16>();
  check_conversions<__half>();
  CHECK(std::isinf(float(__half(65520.0F))));
  CHECK(float(__half(65519.0F)) == 65504.0F);
}

/// d = a b^T + d for a (16 x 16) and b (8 x 16, as ldmatrix needs it), or for b (16 x 8)
/// transposed.
template <class T>
__global__ void product(const T* a, const T* b, float* d, bool transposed) {
  T* const shared_a = ds::cuda::dynamic_shared<T>();
  T* const shared_b = shared_a + 256;
  const unsigned lane = threadIdx.x;
  ds::cuda::copy_async_16(shared_a + lane * 8, a + lane * 8, true);
  ds::cuda::copy_async_commit();
  if (lane < 16) ds::cuda::copy_async_16(shared_b + lane * 8, b + lane * 8, true);
  ds::cuda::copy_async_commit();
  ds::cuda::copy_async_wait<0>();
  __syncthreads();
  std::uint32_t fragment_a[4], fragment_b[2];
  ds::cuda::load_matrix_x4(fragment_a, shared_a + lane % 16 * 16 + lane / 16 * 8);
  if (transposed) {
    ds::cuda::load_matrix_x2_transposed(fragment_b, shared_b + lane % 16 * 8);
  } else {
    ds::cuda::load_matrix_x2(fragment_b, shared_b + lane % 8 * 16 + lane / 8 % 2 * 8);
  }
  float sums[4];
  for (unsigned i = 0; i < 4; ++i) sums[i] = d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
  ds::cuda::mma_16x8x16<T>(sums, fragment_a, fragment_b[0], fragment_b[1]);
  for (unsigned i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

template <class T>
void check_product(bool transposed) {
  const DeviceArray<T> a(256), b(128);
  const DeviceArray<float> d(128);
  for (int i = 0; i < 256; ++i) a[static_cast<std::size_t>(i)] = static_cast<float>(i % 13 - 6);
  for (int i = 0; i < 128; ++i) b[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
  for (int i = 0; i < 128; ++i) d[static_cast<std::size_t>(i)] = static_cast<float>(i);
  REQUIRE(launch(&product<T>, 1, 32, 384 * sizeof(T), nullptr, a.data(), b.data(), d.data(),
                 transposed) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      float sum = static_cast<float>(row * 8 + column);  // small integers: exact
      for (std::size_t k = 0; k < 16; ++k) {
        sum += float(a[row * 16 + k]) * float(transposed ? b[k * 8 + column] : b[column * 16 + k]);
      }
      CHECK(d[row * 8 + column] == sum);
    }
  }
}
TEST_CASE("products of tensor cores from matrices in shared memory") {
  for (const bool transposed : {false, true}) {
    check_product<__nv_bfloat16>(transposed);
    check_product<__half>(transposed);
  }
}

__global__ void unawaited_copy(const int4* from, int4* to) {
  int4* const shared = ds::cuda::dynamic_shared<int4>();
  ds::cuda::copy_async_16(shared + threadIdx.x, from + threadIdx.x, threadIdx.x != 1);
  ds::cuda::copy_async_commit();
  to[threadIdx.x * 2] = shared[threadIdx.x];
  ds::cuda::copy_async_wait<0>();
  to[threadIdx.x * 2 + 1] = shared[threadIdx.x];
}
TEST_CASE("an asynchronous copy completes when it is waited for, not before") {
  const DeviceArray<int4> from(2), to(4);
  from[0] = from[1] = {1, 2, 3, 4};
  REQUIRE(launch(&unawaited_copy, 1, 2, 32, nullptr, from.data(), to.data()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(to[0].x == -1);
  CHECK(to[1].w == 4);
  CHECK(to[3].w == 0);  // not valid: zeros
}

TEST_CASE("the sort keeps the order of equal keys, and sorts by the requested bits") {
  const std::size_t n = 100;
  const DeviceArray<unsigned> keys(n), sorted(n);
  const DeviceArray<int> values(n), moved(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<unsigned>(i * 37 % 16 | 256 * (i % 2));
    values[i] = static_cast<int>(i);
  }
  std::size_t bytes = 0;
  REQUIRE(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.data(), sorted.data(), values.data(),
                                          moved.data(), n, 0, 4) == cudaSuccess);
  const DeviceArray<char> storage(bytes);
  REQUIRE(cub::DeviceRadixSort::SortPairs(storage.data(), bytes, keys.data(), sorted.data(),
                                          values.data(), moved.data(), n, 0, 4) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wrong += keys[static_cast<std::size_t>(moved[i])] == sorted[i] ? 0 : 1;
    if (i == 0) continue;
    const unsigned before = sorted[i - 1] % 16, here = sorted[i] % 16;
    wrong += before < here || (before == here && moved[i - 1] < moved[i]) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace ds::test
