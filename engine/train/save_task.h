// One piece of work in a thread of its own, and how it ended.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "engine/train/save_outcome.h"

namespace ds {

/// At most one at a time. One thread starts and waits. Where there may be no more threads, start()
/// does the work itself.
class SaveTask {
 public:
  using Work = std::function<SaveOutcome()>;  // must not throw

  SaveTask() = default;
  ~SaveTask() { wait(); }
  SaveTask(const SaveTask&) = delete;
  SaveTask& operator=(const SaveTask&) = delete;

  void start(Work work);
  [[nodiscard]] bool is_running() const { return running_; }  // or ended, not waited for
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  /// Of the task that has ended.
  [[nodiscard]] const SaveOutcome& outcome() const { return outcome_; }
  /// Returns when it has ended; no task: at once.
  SaveOutcome wait();

 private:
  std::thread thread_;
  bool running_ = false;
  std::atomic<bool> ended_{false};
  SaveOutcome outcome_;
};

}  // namespace ds
