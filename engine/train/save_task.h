// SaveTask: one piece of work on its own thread, and its outcome.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "engine/train/save_outcome.h"

namespace ds {

/// At most one task at a time. One thread calls start() and wait(). If no thread can be created,
/// start() does the work itself.
class SaveTask {
 public:
  using Work = std::function<SaveOutcome()>;  // must not throw

  SaveTask() = default;
  ~SaveTask() { wait(); }
  SaveTask(const SaveTask&) = delete;
  SaveTask& operator=(const SaveTask&) = delete;

  void start(Work work);
  [[nodiscard]] bool is_running() const {
    return running_;
  }  // also if it has ended but was not waited for
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  /// Returns the outcome of the task that has ended.
  [[nodiscard]] const SaveOutcome& outcome() const { return outcome_; }
  /// Returns when the task has ended; at once if there is none.
  SaveOutcome wait();

 private:
  std::thread thread_;
  bool running_ = false;
  std::atomic<bool> ended_{false};
  SaveOutcome outcome_;
};

}  // namespace ds
