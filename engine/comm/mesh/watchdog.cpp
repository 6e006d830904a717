// Watchdog: wakes once a second and at each deadline. A wake-up that is seconds late means that the
// process was suspended.
#include "engine/comm/mesh/watchdog.h"

#include <pthread.h>

#include <algorithm>

#include "engine/comm/mesh/quiet_thread.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
constexpr Clock::duration kLook = 1s;
constexpr Clock::duration kSuspended = 2s;  // a busy machine delays a thread by less

}  // namespace

Watchdog::Watchdog() : next_look_(Clock::now() + kLook) {
  watches_.reserve(64);
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

// The thread is woken only for a deadline before its next wake-up: waking it for every operation
// would cost more than a small operation does.
Watchdog::Watch::Watch(Watchdog& dog, Deadline deadline, const std::function<void()>& late)
    : dog_(dog), due_(deadline.at()), late_(&late) {
  const std::lock_guard lock(dog_.mutex_);
  dog_.watches_.push_back(this);
  if (due_ < dog_.next_look_) {
    dog_.next_look_ = due_;
    dog_.changed_.notify_one();
  }
}

Watchdog::Watch::~Watch() {
  const std::lock_guard lock(dog_.mutex_);
  std::erase(dog_.watches_, this);
}

void Watchdog::run() {
  ::pthread_setname_np(::pthread_self(), "ds-watch");
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto planned = next_look_;
    changed_.wait_until(lock, planned, [&] { return stop_ || next_look_ < planned; });
    const auto now = Clock::now();
    // Woken early for a nearer deadline: the difference says nothing about a suspension.
    const auto overslept = now - planned;
    next_look_ = now + kLook;
    for (Watch* watch : watches_) {
      if (overslept > kSuspended) watch->due_ += overslept;
      if (watch->late_ != nullptr && watch->due_ <= now) {
        (*watch->late_)();
        watch->late_ = nullptr;
      }
      if (watch->late_ != nullptr) next_look_ = std::min(next_look_, watch->due_);
    }
  }
}

}  // namespace ds::comm
