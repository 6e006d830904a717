// LeafSums: adds the sums of leaves of the gradient norm on all threads of a rank, exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/exact_sum.h"
#include "engine/device/cpu/thread_pool.h"

namespace ds {

/// A rank of 8 G parameters has 8 M leaves, which one thread adds in 39 ms while its GPU idles.
class LeafSums {
 public:
  /// `most`: leaves of one call at most. Starts `threads` - 1 threads if that is worthwhile.
  LeafSums(std::int64_t most, int threads);

  /// Adds all `sums`. The result has the same bits for any number of threads.
  void add(std::span<const double> sums, ExactSum& to);
  /// Returns the total of `counts`.
  std::int64_t total(std::span<const std::int64_t> counts);

 private:
  /// Calls work(first, count) for ranges that cover [0, size), one call per thread at most.
  template <class Work>
  void in_parts(std::int64_t size, Work work);

  std::unique_ptr<ThreadPool> pool_;  // null: the caller's thread alone
};

}  // namespace ds
