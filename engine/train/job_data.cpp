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

// Counts in whole samples, so that a resume with the same batch gives the same number.
std::int64_t steps_of_epochs(const TrainConfig& config, std::int64_t epoch,
                             const TrainingState& from) {
  constexpr double kMost = 0x1p62;
  const double all = std::ceil(config.train.epochs * static_cast<double>(epoch));
  const auto samples = static_cast<std::int64_t>(std::min(all, kMost));
  const std::int64_t left = std::max<std::int64_t>(0, samples - from.next_sample);
  const std::int64_t steps = left / config.batch.global + (left % config.batch.global > 0 ? 1 : 0);
  return std::max<std::int64_t>(1, from.step + steps);
}

}  // namespace ds
