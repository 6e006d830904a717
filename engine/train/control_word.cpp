// Joins and decides control words.
#include "engine/train/control_word.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/error.h"

namespace ds {

// Rank 0's own values stay: `left` has them if any has.
void join(ControlWord& left, const ControlWord& right) {
  if (left.stray < 0) {
    const bool differs = right.step != left.step || right.epoch != left.epoch;
    left.stray = differs ? right.rank : right.stray;
    left.stray_step = differs ? right.step : right.stray_step;
    left.stray_epoch = differs ? right.epoch : right.stray_epoch;
  }
  left.norm_squared.add(right.norm_squared);
  left.loss.add(right.loss);
  left.non_finite += right.non_finite;
  left.tokens += right.tokens;
  left.wish_save = left.wish_save || right.wish_save;
  left.wish_stop = left.wish_stop || right.wish_stop;
  left.wish_pause = left.wish_pause || right.wish_pause;
  left.save_written = std::min(left.save_written, right.save_written);
  left.save_failed = std::max(left.save_failed, right.save_failed);
  left.kept = std::min(left.kept, right.kept);
  left.keep_failed = std::max(left.keep_failed, right.keep_failed);
  if (right.own_work > left.own_work) {
    left.phases = right.phases;
    left.own_work = right.own_work;
    left.slowest = right.slowest;
  }
}

StepDecision decide(const ControlWord& all) {
  if (all.stray >= 0) {
    throw Error(
        ErrorKind::comm,
        fmt::format("rank {} is at step {} of epoch {}, rank {} at step {} of epoch {}", all.stray,
                    all.stray_step, all.stray_epoch, all.rank, all.step, all.epoch),
        "start all ranks with the same configuration and from the same checkpoint");
  }
  return {.all = all,
          .loss = all.tokens > 0 ? all.loss.rounded() / static_cast<double>(all.tokens) : 0,
          .norm = std::sqrt(all.norm_squared.rounded())};
}

StepDecision decide_together(Group& group, const ControlWord& own, Deadline deadline) {
  ControlWord all = own;
  const auto add = [](std::span<std::byte> left, std::span<const std::byte> right) {
    ControlWord word, other;
    std::memcpy(&word, left.data(), sizeof word);
    std::memcpy(&other, right.data(), sizeof other);
    join(word, other);
    std::memcpy(left.data(), &word, sizeof word);
  };
  group.combine(std::as_writable_bytes(std::span(&all, 1)), add, deadline);
  return decide(all);
}

}  // namespace ds
