// One thread per process that looks at all groups while they have operations under way, and sleeps
// otherwise.
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
  /// Whoever is looked at. Its functions are called on the watchdog's thread.
  class Watched {
   public:
    virtual ~Watched() = default;
    virtual void look(Clock::time_point now) = 0;
    /// The process did not run for so long: that time is nobody's fault.
    virtual void forgive(Clock::duration gap) = 0;
    [[nodiscard]] virtual bool is_busy() = 0;
  };

  /// `device` as CUDA counts.
  explicit NcclWatchdog(int device);
  ~NcclWatchdog();
  NcclWatchdog(const NcclWatchdog&) = delete;
  NcclWatchdog& operator=(const NcclWatchdog&) = delete;

  void add(Watched* watched);
  /// Afterwards it is not touched any more.
  void remove(Watched* watched);
  /// There may be something to look at. Cheap while the thread is awake.
  void wake();

 private:
  void run(int device);
  bool look_at_all();

  std::mutex watched_mutex_;  // held during looks
  std::vector<Watched*> watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> asleep_ = false;
  bool stop_ = false, awake_ = false;  // guarded by mutex_
  Clock::time_point last_look_;
  std::thread thread_;
};

}  // namespace ds::comm
