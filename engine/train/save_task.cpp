// Runs a task on a thread and keeps its outcome.
#include "engine/train/save_task.h"

#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace ds {

void SaveTask::start(Work work) {
  DS_ASSERT(!running_, "one at a time");
  ended_.store(false, std::memory_order_relaxed);
  running_ = true;
  const auto run = [this, work = std::move(work)] {
    outcome_ = work();
    ended_.store(true, std::memory_order_release);
  };
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error&) {
    run();
  }
}

SaveOutcome SaveTask::wait() {
  if (thread_.joinable()) thread_.join();
  running_ = false;
  return outcome_;
}

}  // namespace ds
