// ThreadPool: futex waits, one atomic ticket for tiles, pinning of threads.
#include "engine/device/cpu/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <limits>

#include "engine/base/cgroup_limits.h"
#include "engine/base/error.h"
#include "engine/device/cpu/float_state.h"

namespace ds {
namespace {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  // Returns on a wake, a change, or a signal; every caller checks again. It needs no deadline: it
  // only waits for arithmetic of this process.
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);  // a failure costs only speed
}

}  // namespace

ThreadPool::ThreadPool(int threads, void (*at_start)()) {
  DS_ASSERT(threads >= 1);
  const std::vector<int> cpus = allowed_cpus();
  threads_.reserve(static_cast<std::size_t>(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    threads_.emplace_back([this, thread, at_start] {
      set_float_state();
      if (at_start != nullptr) at_start();
      work(thread);
    });
    // Pins only if the pool fills this process's CPUs: with fewer threads, another rank may share
    // the same mask and would pin to the same cores. The caller's own thread is not pinned.
    if (static_cast<std::size_t>(threads) == cpus.size()) {
      pin(threads_.back(), cpus[static_cast<std::size_t>(thread)]);
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  loop_.fetch_add(1);
  futex_wake(loop_, INT_MAX);
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::run_one_tile(int thread) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (static_cast<std::uint32_t>(ticket) == 0) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel));
  (*body_)(tiles_ - static_cast<std::int64_t>(static_cast<std::uint32_t>(ticket)), thread);
  DS_ASSERT(float_state_is_right(), "a kernel or library changed the floating-point mode");
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1 && thread != 0) futex_wake(left_, 1);
  return true;
}

void ThreadPool::work(int thread) {
  while (true) {
    const std::uint32_t seen = loop_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    while (run_one_tile(thread)) {
    }
    wait_for_ticket(seen);
  }
}

void ThreadPool::wait_for_ticket(std::uint32_t seen) {
  sleepers_.fetch_add(1);
  while (loop_.load() == seen) futex_wait(loop_, seen);
  sleepers_.fetch_sub(1);
}

void ThreadPool::parallel_for(std::int64_t tiles, Body body) {
  DS_ASSERT(tiles >= 0 && tiles < std::numeric_limits<std::uint32_t>::max());
  const FloatStateScope mode;
  if (threads_.empty() || tiles <= 1) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      alone_.fetch_add(1, std::memory_order_relaxed);
      body(tile, 0);
    }
    DS_ASSERT(float_state_is_right(), "a kernel or library changed the floating-point mode");
    return;
  }
  const std::lock_guard one_loop(callers_);
  body_ = &body;
  tiles_ = tiles;
  left_.store(static_cast<std::uint32_t>(tiles));
  const std::uint64_t number = (ticket_.load() >> 32) + 1;
  ticket_.store((number << 32) | static_cast<std::uint64_t>(tiles), std::memory_order_release);
  loop_.fetch_add(1);
  if (sleepers_.load() > 0) {
    futex_wake(loop_, static_cast<int>(tiles - 1 < INT_MAX ? tiles - 1 : INT_MAX));
  }
  while (run_one_tile(0)) {
  }
  for (std::uint32_t left = left_.load(); left != 0; left = left_.load()) futex_wait(left_, left);
}

int default_thread_count() {
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr) {
    const int wanted = std::atoi(text);
    if (wanted >= 1 && wanted <= 1024) return wanted;
  }
  const int cpus = static_cast<int>(allowed_cpus().size());
  return std::max(1, static_cast<int>(std::min<double>(cpus, cpu_quota())));
}

}  // namespace ds
