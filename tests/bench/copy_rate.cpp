// Measures this machine's memory copy rate, a reference of benchmarks.
//   copy_rate BYTES THREADS ROUNDS [new]      prints bytes per second, one line per round
// With `new` each round copies to memory of which no page was used before, as a rank that begins.
// Threads with equal shares call the C library's memcpy between two buffers that are allocated as a
// rank allocates its own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/device/cpu/cpu_device.h"

int main(int count, char** words) {
  if (count != 4 && count != 5) return 64;
  const auto bytes = static_cast<std::size_t>(std::atoll(words[1]));
  const auto threads = static_cast<std::size_t>(std::atoi(words[2]));
  const int rounds = std::atoi(words[3]);
  const auto device = ds::make_cpu_device("");
  const auto from = device->allocate(ds::Tier::host, bytes);
  auto to = device->allocate(ds::Tier::host, bytes);
  std::memset(from->data(), 1, bytes);
  std::memset(to->data(), 2, bytes);
  for (int round = 0; round < rounds; ++round) {
    if (count == 5) to = device->allocate(ds::Tier::host, bytes);
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < threads; ++i) {
        const std::size_t first = bytes * i / threads, last = bytes * (i + 1) / threads;
        workers.emplace_back([&, first, last] {
          std::memcpy(to->data() + first, from->data() + first, last - first);
        });
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.0f\n", static_cast<double>(bytes) / took.count());
  }
}
