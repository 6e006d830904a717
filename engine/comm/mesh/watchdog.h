// Watchdog: calls back when a deadline has passed, without counting time in which this process did
// not run. A job that Ctrl-Z suspended for an hour goes on after fg instead of finding every
// deadline passed.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::comm {

class Watchdog {
 public:
  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

  /// While it lives, `late` is called once when the deadline passes, on the watchdog's thread. Does
  /// not allocate.
  class Watch {
   public:
    /// `late` must outlive the watch.
    Watch(Watchdog& dog, Deadline deadline, const std::function<void()>& late);
    ~Watch();
    Watch(const Watch&) = delete;

   private:
    friend class Watchdog;
    Watchdog& dog_;
    Clock::time_point due_;
    const std::function<void()>* late_;  // null once it was called
  };

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watch*> watches_;
  Clock::time_point next_look_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ds::comm
