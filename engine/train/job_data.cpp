// pack_share() and steps_of_epochs().
#include "engine/train/job_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/base/deadline.h"
#include "engine/base/units.h"
#include "engine/device/cpu/thread_pool.h"

namespace ds {

PackShare pack_share(const Rendezvous& job) {
  PackShare share{
      .rank = job.rank, .ranks = job.world_size, .threads = std::max(1, default_thread_count())};
  if (share.rank != 0) return share;
  share.tell = [told = Clock::now()](std::int64_t done, std::int64_t all) mutable {
    constexpr auto kPause = std::chrono::seconds(5);
    if (Clock::now() - told < kPause) return;
    told = Clock::now();
    fmt::print("tokenizing: {} of {}\n", format_bytes(done), format_bytes(all));
    std::fflush(stdout);
  };
  return share;
}

std::int64_t steps_of_epochs(const TrainConfig& config, std::int64_t epoch) {
  const double samples = config.train.epochs * static_cast<double>(epoch);
  const double steps = std::ceil(samples / static_cast<double>(config.batch.global));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

}  // namespace ds
