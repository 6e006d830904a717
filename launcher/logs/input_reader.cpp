#include "launcher/logs/input_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/helper_thread.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 10;
/// How often to check whether the terminal still belongs to another job.
constexpr std::chrono::milliseconds kForegroundPeriod{200};

/// Reading a terminal from the background would stop this whole process.
bool is_in_background(int fd) {
  const pid_t owner = ::tcgetpgrp(fd);
  return owner >= 0 && owner != ::getpgrp();
}

}  // namespace

struct InputReader::Shared {
  int fd = -1;
  OnInput on_input;
  std::mutex mutex;
  std::condition_variable wake;
  std::uint64_t allowed = 0;
  bool abandoned = false;

  void run();
};

void InputReader::Shared::run() {
  while (true) {
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return abandoned || allowed > 0; });
    if (abandoned) return;
    std::vector<std::byte> bytes(std::min<std::uint64_t>(allowed, kMost));
    lock.unlock();
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, -1) < 0 && errno == EINTR) continue;
    if (is_in_background(fd)) {
      std::this_thread::sleep_for(kForegroundPeriod);
      continue;
    }
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    int error = got < 0 ? errno : 0;
    // The terminal has just been given to another job: with signals blocked, read() fails with EIO.
    if (error == EINTR || error == EAGAIN || (error == EIO && is_in_background(fd))) continue;
    if (error == EBADF) error = 0;  // closed, or opened by nohup, which allows only writing
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    lock.lock();  // so on_input is not called once abandoned
    if (abandoned) return;
    allowed -= std::min<std::uint64_t>(allowed, bytes.size());
    on_input(std::move(bytes), got <= 0, error);
    if (got <= 0) return;
  }
}

InputReader::InputReader(int fd, OnInput on_input) : shared_(std::make_shared<Shared>()) {
  shared_->fd = fd;
  shared_->on_input = std::move(on_input);
  start_helper_thread([shared = shared_] { shared->run(); });
}

InputReader::~InputReader() {
  const std::lock_guard lock(shared_->mutex);
  shared_->abandoned = true;
  shared_->wake.notify_one();
}

void InputReader::allow(std::uint64_t bytes) {
  const std::lock_guard lock(shared_->mutex);
  shared_->allowed = bytes;
  shared_->wake.notify_one();
}

}  // namespace ds::launcher
