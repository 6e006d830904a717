// cub::DeviceRadixSort::SortPairs, implemented as a stable sort in the stream's order.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "cuda_emulation.h"

namespace cub {

struct DeviceRadixSort {
  /// As in CUB: without temporary storage it only returns the required size.
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* storage, std::size_t& storage_bytes, const Key* keys_in,
                               Key* keys_out, const Value* values_in, Value* values_out,
                               Count count, int begin_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = nullptr) {
    static_assert(std::is_unsigned_v<Key>, "the emulation sorts unsigned keys only");
    const auto n = static_cast<std::size_t>(count);
    const std::size_t wanted = n * (sizeof(Key) + sizeof(Value)) + 1024;
    if (storage == nullptr) {
      storage_bytes = wanted;
      return cudaSuccess;
    }
    if (storage_bytes < wanted || !emulation::reachable(storage, storage_bytes) ||
        !emulation::reachable(keys_in, n * sizeof(Key)) ||
        !emulation::reachable(keys_out, n * sizeof(Key)) ||
        !emulation::reachable(values_in, n * sizeof(Value)) ||
        !emulation::reachable(values_out, n * sizeof(Value))) {
      return cudaErrorInvalidValue;
    }
    using Job = Sort<Key, Value>;
    return emulation::enqueue(
        stream, &Job::run, new Job{keys_in, keys_out, values_in, values_out, n, begin_bit, end_bit},
        [](void* self) { delete static_cast<Job*>(self); });
  }

 private:
  template <class Key, class Value>
  struct Sort {
    const Key* keys_in;
    Key* keys_out;
    const Value* values_in;
    Value* values_out;
    std::size_t count;
    int begin_bit, end_bit;

    static cudaError_t run(void* self) {
      const auto& own = *static_cast<const Sort*>(self);
      const int bits = own.end_bit - own.begin_bit;
      const Key mask = bits >= static_cast<int>(sizeof(Key) * 8)
                           ? static_cast<Key>(~Key{0})
                           : static_cast<Key>((Key{1} << bits) - 1);
      const auto part = [&](std::size_t i) {
        return static_cast<Key>(own.keys_in[i] >> own.begin_bit & mask);
      };
      std::vector<std::size_t> order(own.count);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return part(a) < part(b); });
      std::vector<Key> keys(own.count);
      std::vector<Value> values(own.count);
      for (std::size_t i = 0; i < own.count; ++i) {
        keys[i] = own.keys_in[order[i]];
        values[i] = own.values_in[order[i]];
      }
      std::copy(keys.begin(), keys.end(), own.keys_out);
      std::copy(values.begin(), values.end(), own.values_out);
      return cudaSuccess;
    }
  };
};

}  // namespace cub
