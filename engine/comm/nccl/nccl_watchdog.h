// NcclWatchdog: one thread per process that polls all groups while they have operations under way,
// and sleeps otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::comm {

class NcclWatchdog {
 public:
  /// A group that is polled. Its functions are called on the watchdog's thread.
  class Watched {
   public:
    virtual ~Watched() = default;
    virtual void look(Clock::time_point now) = 0;
    /// The process was suspended for `gap`, which counts against no deadline.
    virtual void forgive(Clock::duration gap) = 0;
    [[nodiscard]] virtual bool is_busy() = 0;
  };

  /// `device`: as CUDA numbers it.
  explicit NcclWatchdog(int device);
  ~NcclWatchdog();
  NcclWatchdog(const NcclWatchdog&) = delete;
  NcclWatchdog& operator=(const NcclWatchdog&) = delete;

  void add(Watched* watched);
  /// Removes it; it is not touched afterwards.
  void remove(Watched* watched);
  /// Announces that there may be something to poll. Cheap while the thread is awake.
  void wake();

 private:
  void run(int device);
  bool look_at_all();

  std::mutex watched_mutex_;  // held while polling
  std::vector<Watched*> watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> asleep_ = false;
  bool stop_ = false, awake_ = false;  // guarded by mutex_
  Clock::time_point last_look_;
  std::thread thread_;
};

}  // namespace ds::comm
