// ThreadPool: threads that share the tiles of one loop at a time. It waits in futexes and never
// allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/function_ref.h"

namespace ds {

/// The caller of parallel_for works too, as thread 0; threads 1 .. size()-1 belong to the pool.
/// Threads: any may call; loops run one after another.
class ThreadPool {
 public:
  using Body = FunctionRef<void(std::int64_t tile, int thread)>;

  /// `threads` >= 1 may exceed the number of cores. `at_start` runs once in each pool thread (not
  /// the caller's).
  ThreadPool(int threads, void (*at_start)());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls body(tile, thread) once for each tile in [0, tiles), and returns when all have finished.
  /// Tiles are assigned to threads at random, so a body's result must depend on the tile alone.
  /// Errors: `body` must not throw (a throw ends the process) and must not change the
  /// floating-point mode (checked).
  void parallel_for(std::int64_t tiles, Body body);

  /// Returns a number that changes with every tile that a thread takes. Any thread.
  [[nodiscard]] std::uint64_t progress() const {
    return ticket_.load(std::memory_order_relaxed) ^ (alone_.load(std::memory_order_relaxed) << 40);
  }

 private:
  void work(int thread);
  bool run_one_tile(int thread);
  void wait_for_ticket(std::uint32_t seen);

  std::mutex callers_;  // streams beside the compute stream run loops of their own
  // High word: number of the loop; low word: tiles not taken yet. A tile is taken by one
  // compare-and-swap of the pair, so that a thread that wakes late cannot take a tile of another
  // loop.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint64_t> alone_{0};     // tiles of loops that ran on their caller alone
  std::atomic<std::uint32_t> loop_{0};      // futex: changes when a loop starts or the pool stops
  std::atomic<std::uint32_t> left_{0};      // futex: unfinished tiles of this loop
  std::atomic<std::uint32_t> sleepers_{0};  // pool threads inside futex_wait
  std::int64_t tiles_ = 0;  // of this loop; does not change while one of its tiles is taken
  const Body* body_ = nullptr;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

/// Returns how many threads this process should use: OMP_NUM_THREADS if set and valid, else its
/// share of the CPUs by affinity and the cgroup's CPU quota.
int default_thread_count();

}  // namespace ds
