// One thread and one queue for both streams, so that their order is kept.
#include "launcher/logs/output_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>

#include "engine/base/helper_thread.h"

namespace ds::launcher {

namespace {

// Queued pieces are joined up to this size; larger ones are written as they are.
constexpr std::size_t kJoin = std::size_t{256} << 10;

/// Returns 0 or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      // Another process made the terminal non-blocking. This thread may wait as long as it takes.
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Writes as much as can be written without waiting.
void write_what_fits(int fd, std::string_view text) {
  pollfd room{fd, POLLOUT, 0};
  while (!text.empty() && ::poll(&room, 1, 0) == 1 && room.revents == POLLOUT) {
    const ssize_t written = ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

struct OutputQueue::Shared {
  struct Piece {
    int stream = 1;
    OutputBuffer bytes;
  };
  int fds[3] = {-1, -1, -1};  // by stream
  std::function<void()> on_change;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Piece> pieces;
  bool started = false;
  bool abandoned = false;
  std::atomic<std::size_t> queued{0};  // bytes, including those being written
  std::atomic<int> broken[3] = {};     // errno

  void run();
  void changed() {
    const std::lock_guard lock(mutex);  // so on_change is not called once abandoned
    if (!abandoned) on_change();
  }
};

void OutputQueue::Shared::run() {
  while (true) {
    Piece piece;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return abandoned || !pieces.empty(); });
      if (abandoned) return;
      piece = std::move(pieces.front());
      pieces.pop_front();
    }
    const std::size_t size = piece.bytes.size();
    std::atomic<int>& error = broken[piece.stream];
    if (error == 0) {
      error = write_all(fds[piece.stream], piece.bytes.view());
      if (error != 0) changed();
    }
    const std::size_t before = queued.fetch_sub(size);
    const std::size_t after = before - size;
    if (after == 0 || (before >= kLow && after < kLow)) changed();
  }
}

OutputQueue::OutputQueue(int out_fd, int err_fd, std::function<void()> on_change)
    : shared_(std::make_shared<Shared>()) {
  shared_->fds[1] = out_fd;
  shared_->fds[2] = err_fd;
  shared_->on_change = std::move(on_change);
}

OutputQueue::~OutputQueue() {
  const std::lock_guard lock(shared_->mutex);
  shared_->abandoned = true;
  shared_->wake.notify_one();
  // The verdict must reach standard error even if standard output is blocked.
  for (const Shared::Piece& piece : shared_->pieces)
    if (piece.stream == 2) write_what_fits(shared_->fds[2], piece.bytes.view());
}

void OutputQueue::push(int stream, OutputBuffer& buffer) {
  if (buffer.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->queued += buffer.size();
  auto& pieces = shared_->pieces;
  if (!pieces.empty() && pieces.back().stream == stream &&
      pieces.back().bytes.size() + buffer.size() <= kJoin) {
    pieces.back().bytes.append(buffer.view());
    buffer.clear();
  } else {
    pieces.emplace_back().stream = stream;
    pieces.back().bytes.swap(buffer);
  }
  if (!shared_->started) {
    start_helper_thread([shared = shared_] { shared->run(); });
    shared_->started = true;
  }
  shared_->wake.notify_one();
}

std::size_t OutputQueue::queued() const { return shared_->queued; }

int OutputQueue::broken(int stream) const { return shared_->broken[stream]; }

}  // namespace ds::launcher
