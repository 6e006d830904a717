// What all_reduce_mesh and all_reduce_gloo share: processes, memory, times, the check of the sum.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>

namespace ds::bench {

/// Sums `data` over all ranks, in place.
using AllReduce = std::function<void(std::span<float> data)>;

/// sum = left + right, with the widest vectors that the CPU has.
[[gnu::target_clones("avx512f", "avx2", "default")]] inline void add(float* sum, const float* left,
                                                                     const float* right,
                                                                     std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

struct Shared {
  std::atomic<int> arrived = 0;
  std::atomic<double> ended[64];
};

inline double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline std::span<float> huge_floats(std::size_t count) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const std::size_t bytes = (count * sizeof(float) + kHuge - 1) / kHuge * kHuge;
  void* memory = std::aligned_alloc(kHuge, bytes);
  if (memory == nullptr) std::abort();
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return {static_cast<float*>(memory), count};
}

inline void wait_for_all(Shared& shared, int ranks, int& phase) {
  const int wanted = ++phase * ranks;
  ++shared.arrived;
  while (shared.arrived < wanted) ::sched_yield();
}

inline void run_rank(int rank, int ranks, int rounds, Shared& shared, std::span<float> data,
                     const AllReduce& all_reduce) {
  int phase = 0;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    std::ranges::fill(data, static_cast<float>(rank + 1));
    wait_for_all(shared, ranks, phase);
    const double begun = now();
    all_reduce(data);
    shared.ended[rank] = now();
    wait_for_all(shared, ranks, phase);
    double last = 0;
    for (int other = 0; other < ranks; ++other) last = std::max(last, shared.ended[other].load());
    const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
    if (data.front() != sum || data.back() != sum) std::abort();
    if (rank == 0 && round >= 0) std::printf("%.2f\n", last - begun);
    wait_for_all(shared, ranks, phase);
  }
  std::fflush(stdout);
}

/// Usage: PROGRAM RANKS MEGABYTES ROUNDS ... prints the milliseconds of each round, from the start
/// of all ranks to the end of the last. `connect` runs in each rank's process.
inline int run_ranks(int argc, char** argv,
                     const std::function<AllReduce(int rank, int ranks)>& connect) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s RANKS MEGABYTES ROUNDS\n", argv[0]);
    return 64;
  }
  const int ranks = std::atoi(argv[1]), rounds = std::atoi(argv[3]);
  const std::size_t count = std::stoul(argv[2]) * 1'000'000 / sizeof(float);
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || ranks < 1 || ranks > 64) return 64;
  auto& shared = *new (memory) Shared;
  for (int rank = 0; rank < ranks; ++rank) {
    if (::fork() != 0) continue;
    run_rank(rank, ranks, rounds, shared, huge_floats(count), connect(rank, ranks));
    ::_exit(0);
  }
  int failures = 0;
  for (int status = 0; ::wait(&status) > 0;) failures += status == 0 ? 0 : 1;
  return failures == 0 ? 0 : 1;
}

}  // namespace ds::bench
