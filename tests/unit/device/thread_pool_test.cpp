// Tests of the thread pool: runs every tile once, also with more threads than cores, sets the
// floating-point mode, allocates nothing.
#include "engine/device/cpu/thread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "engine/device/cpu/float_state.h"

using ds::ThreadPool;

TEST_CASE("every tile runs exactly once, for any number of threads and tiles") {
  for (const int threads : {1, 2, 3, 16}) {
    ThreadPool pool(threads, nullptr);
    REQUIRE(pool.size() == threads);
    for (const std::int64_t tiles : {0, 1, 2, 17, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tiles));
        pool.parallel_for(tiles, [&](std::int64_t tile, int thread) {
          if (thread < 0 || thread >= threads) std::abort();
          runs[static_cast<std::size_t>(tile)].fetch_add(1);
        });
        const bool once =
            std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; });
        REQUIRE(once);
      }
    }
  }
}

TEST_CASE("writes of tiles are visible after the loop and in the next loop") {
  ThreadPool pool(4, nullptr);
  std::vector<std::int64_t> values(100, 0);
  for (int round = 0; round < 500; ++round) {
    pool.parallel_for(
        100, [&](std::int64_t tile, int) { values[static_cast<std::size_t>(tile)] += tile; });
  }
  CHECK(std::accumulate(values.begin(), values.end(), std::int64_t{0}) == 500 * 99 * 100 / 2);
}

TEST_CASE("denormals are kept in every thread, and the caller's own mode is restored") {
  std::atomic<int> started = 0;
  static std::atomic<int>* counter = nullptr;
  counter = &started;
  ThreadPool pool(4, [] { counter->fetch_add(1); });
  _mm_setcsr(_mm_getcsr() |
             0x8040U);  // FTZ and DAZ, as a library compiled with -ffast-math would leave them
  std::atomic<int> wrong = 0;
  pool.parallel_for(64, [&](std::int64_t, int) {
    if (!ds::float_state_is_right()) wrong.fetch_add(1);
  });
  CHECK(wrong == 0);
  CHECK((_mm_getcsr() & 0x8040U) == 0x8040U);
  ds::set_float_state();
  while (started.load() < 3) std::this_thread::yield();
}

TEST_CASE("pools can be created and destroyed repeatedly") {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3, nullptr);
    if (i % 2 == 0) pool.parallel_for(2, [](std::int64_t, int) {});
  }
}
