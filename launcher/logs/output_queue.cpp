// One thread and one queue for both streams, so that their order is kept.
#include "launcher/logs/output_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "engine/base/helper_thread.h"

namespace ds::launcher {
namespace {

// Queued pieces are joined up to this size; larger ones are written as they are.
constexpr std::size_t kJoin = std::size_t{256} << 10;

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

int WriterQueue::write_all(int fd, std::string_view text) {
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

void WriterQueue::push(std::size_t target, OutputBuffer& bytes, std::size_t join) {
  queued += bytes.size();
  if (!pieces.empty() && pieces.back().target == target &&
      pieces.back().bytes.size() + bytes.size() <= join) {
    pieces.back().bytes.append(bytes.view());
    bytes.clear();
  } else {
    pieces.emplace_back().target = target;
    pieces.back().bytes.swap(bytes);
  }
  wake.notify_one();
}

void WriterQueue::run(const std::function<void(const Piece&)>& write) {
  while (true) {
    Piece piece;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return abandoned || !pieces.empty(); });
      if (abandoned) return;
      piece = std::move(pieces.front());
      pieces.pop_front();
      writing = piece.target;
    }
    write(piece);
    const std::size_t before = queued.fetch_sub(piece.bytes.size());
    const std::size_t after = before - piece.bytes.size();
    if (after == 0 || (before >= OutputQueue::kLow && after < OutputQueue::kLow)) changed();
  }
}

void WriterQueue::changed() {
  const std::lock_guard lock(mutex);  // so on_change is not called once abandoned
  if (!abandoned) on_change();
}

void WriterQueue::abandon() {
  const std::lock_guard lock(mutex);
  abandoned = true;
  wake.notify_one();
}

struct OutputQueue::Shared : WriterQueue {
  int fds[3] = {-1, -1, -1};  // by stream, which is the target
  bool started = false;
  std::atomic<int> broken[3] = {};  // errno

  void write(const Piece& piece) {
    std::atomic<int>& error = broken[piece.target];
    if (error != 0) return;
    error = write_all(fds[piece.target], piece.bytes.view());
    if (error != 0) changed();
  }
};

OutputQueue::OutputQueue(int out_fd, int err_fd, std::function<void()> on_change)
    : shared_(std::make_shared<Shared>()) {
  shared_->fds[1] = out_fd;
  shared_->fds[2] = err_fd;
  shared_->on_change = std::move(on_change);
}

OutputQueue::~OutputQueue() {
  shared_->abandon();
  // The verdict must reach standard error even if standard output is blocked.
  for (const WriterQueue::Piece& piece : shared_->pieces)
    if (piece.target == 2) write_what_fits(shared_->fds[2], piece.bytes.view());
}

void OutputQueue::push(int stream, OutputBuffer& buffer) {
  if (buffer.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->push(static_cast<std::size_t>(stream), buffer, kJoin);
  if (shared_->started) return;
  start_helper_thread([shared = shared_] {
    shared->run([&](const WriterQueue::Piece& piece) { shared->write(piece); });
  });
  shared_->started = true;
}

std::size_t OutputQueue::queued() const { return shared_->queued; }

int OutputQueue::broken(int stream) const { return shared_->broken[stream]; }

}  // namespace ds::launcher
