#include "launcher/logs/line_batcher.h"

#include "engine/base/error.h"

namespace ds::launcher {

std::span<std::byte> LineBatcher::space() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  drop_taken();
  return {buffer_.get() + end_, capacity_ - end_};
}

void LineBatcher::added(std::size_t count, Clock::time_point now) {
  if (count == 0) return;
  DS_ASSERT(end_ + count <= capacity_);
  const bool nothing_held = end_ == begin_ || lines_end_ == end_;
  const void* newline = ::memrchr(buffer_.get() + end_, '\n', count);
  end_ += count;
  if (newline != nullptr)
    lines_end_ =
        static_cast<std::size_t>(static_cast<const std::byte*>(newline) - buffer_.get()) + 1;
  if (nothing_held || newline != nullptr) partial_since_ = now;
}

std::optional<LineBatch> LineBatcher::take(Clock::time_point now) {
  if (lines_end_ > begin_) return take_until(lines_end_, 0);
  if (begin_ == end_) return std::nullopt;

  if (begin_ == 0 && end_ == capacity_) return take_until(end_, kOutputPartial | kOutputMore);
  if (now >= partial_since_ + kPartialAfter) return take_until(end_, partial_flags());
  return std::nullopt;
}

std::optional<LineBatch> LineBatcher::take_rest() {
  if (begin_ == end_) return std::nullopt;
  return take_until(end_, partial_flags());
}

std::optional<Clock::time_point> LineBatcher::wake_at() const {
  if (begin_ == end_) return std::nullopt;
  if (lines_end_ > begin_) return Clock::time_point::min();
  return partial_since_ + kPartialAfter;
}

void LineBatcher::drop_taken() {
  if (begin_ == 0) return;
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  lines_end_ = lines_end_ > begin_ ? lines_end_ - begin_ : 0;
  end_ -= begin_;
  begin_ = 0;
}

LineBatch LineBatcher::take_until(std::size_t until, std::uint8_t flags) {
  const LineBatch batch{{buffer_.get() + begin_, until - begin_}, flags};
  begin_ = until;
  return batch;
}

std::uint8_t LineBatcher::partial_flags() const {
  const bool after_cr = buffer_[end_ - 1] == std::byte{'\r'};
  return static_cast<std::uint8_t>(after_cr ? kOutputPartial | kOutputCr : kOutputPartial);
}

}  // namespace ds::launcher
