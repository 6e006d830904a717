// One LineFold for each stream; the prefix of the last line is kept for lines of the same ranks.
#include "launcher/logs/fold_stage.h"

#include <algorithm>

namespace ds::launcher {

void FoldStage::start(const std::vector<std::uint8_t>& shown) {
  for (const int stream : {1, 2}) {
    const auto index = static_cast<std::size_t>(stream - 1);
    std::vector<bool> writes;
    for (const std::uint8_t streams : shown) writes.push_back((streams & stream) != 0);
    folds_[index].start(writes);
    last_[index] = {};
  }
  next_.push();
}

void FoldStage::take(const Output& output) {
  if (output.rank == -1) return next_.take(output);
  LineFold& fold = folds_[output.stream - 1U];
  const Clock::time_point at{std::chrono::nanoseconds(output.time)};
  const auto flags = static_cast<std::uint8_t>(output.flags & ~Output::kLast);
  fold.add(output.rank, flags, text_of(output), at, Clock::now());
  if ((output.flags & Output::kLast) != 0) fold.ended(output.rank, at, Clock::now());
  next_.push();
}

void FoldStage::finish() {
  for (LineFold& fold : folds_) fold.flush();
  next_.finish();
}

std::optional<Clock::time_point> FoldStage::wake_at() const {
  const auto out = folds_[0].wake_at();
  const auto err = folds_[1].wake_at();
  return out && err ? std::min(out, err) : out ? out : err;
}

void FoldStage::tick(Clock::time_point now) {
  for (LineFold& fold : folds_) fold.tick(now);
  next_.push();
}

void FoldStage::emit(int stream, const FoldedLine& line) {
  Prefix& last = last_[static_cast<std::size_t>(stream - 1)];
  const bool same = std::ranges::equal(last.ranks, line.ranks) &&
                    (line.first == last.at || !prefixes_.has_time());
  if (!same) {
    last.text = prefixes_.of(line.ranks, stream, clock_.of(line.first));
    last.ranks.assign(line.ranks.begin(), line.ranks.end());
    last.at = line.first;
  }
  const int rank = line.ranks.size() == 1 ? line.ranks.front() : -1;
  next_.line(rank, stream, line.text, last.text);
}

}  // namespace ds::launcher
