// NcclWatchdog: polls every 20 ms. A poll that is seconds late means that the process was
// suspended.
#include "engine/comm/nccl/nccl_watchdog.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
constexpr Clock::duration kLookEvery = 20ms;
constexpr Clock::duration kSuspended = 2s;  // a busy machine delays a thread by less

// Starts a thread that takes no signals, which are for the main thread.
std::thread quiet_thread(auto body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(body);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

NcclWatchdog::NcclWatchdog(int device)
    : last_look_(Clock::now()), thread_(quiet_thread([this, device] { run(device); })) {}

NcclWatchdog::~NcclWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void NcclWatchdog::add(Watched* watched) {
  const std::lock_guard lock(watched_mutex_);
  watched_.push_back(watched);
}

void NcclWatchdog::remove(Watched* watched) {
  const std::lock_guard lock(watched_mutex_);
  std::erase(watched_, watched);
}

void NcclWatchdog::wake() {
  if (!asleep_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  changed_.notify_one();
}

// A thread that adds work after the last poll finds `asleep_` set and wakes this thread. Work added
// before is seen by the poll that follows.
void NcclWatchdog::run(int device) {
  ::pthread_setname_np(::pthread_self(), "ds-nccl");
  static_cast<void>(cudaSetDevice(device));
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    bool busy = look_at_all();
    if (!busy) {
      asleep_ = true;
      busy = look_at_all();
    }
    lock.lock();
    if (busy) {
      changed_.wait_for(lock, kLookEvery, [this] { return stop_; });
    } else {
      changed_.wait(lock, [this] { return stop_ || awake_; });
      last_look_ = Clock::now();
    }
    asleep_ = awake_ = false;
  }
}

bool NcclWatchdog::look_at_all() {
  const std::lock_guard lock(watched_mutex_);
  const Clock::time_point now = Clock::now();
  const Clock::duration gap = now - last_look_;
  last_look_ = now;
  bool busy = false;
  for (Watched* const each : watched_) {
    if (gap > kSuspended) each->forgive(gap);
    each->look(now);
    busy = busy || each->is_busy();
  }
  // Time spent polling (for instance talking to other ranks) is not a suspension.
  last_look_ = std::max(last_look_, Clock::now());
  return busy;
}

}  // namespace ds::comm
