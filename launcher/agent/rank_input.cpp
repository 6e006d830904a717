// Writes what the pipe takes.
#include "launcher/agent/rank_input.h"

#include <unistd.h>

#include <cerrno>

namespace ds::launcher {

void RankInput::add(std::span<const std::byte> bytes, bool last) {
  if (!fd_) {
    taken_ += bytes.size();
    return;
  }
  if (begin_ > 0)
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  last_ = last_ || last;
  write_some();
}

void RankInput::write_some() {
  while (fd_ && waiting() > 0) {
    const ssize_t wrote = ::write(fd_.get(), bytes_.data() + begin_, waiting());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0) return close();
    begin_ += static_cast<std::size_t>(wrote);
    taken_ += static_cast<std::uint64_t>(wrote);
  }
  if (last_) close();
}

void RankInput::close() {
  taken_ += waiting();
  bytes_ = {};
  begin_ = 0;
  fd_.reset();
}

}  // namespace ds::launcher
