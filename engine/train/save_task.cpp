// A thread and its outcome.
#include "engine/train/save_task.h"

#include <utility>

#include "engine/base/error.h"

namespace ds {

void SaveTask::start(Work work) {
  DS_ASSERT(!thread_.joinable(), "one at a time");
  ended_.store(false, std::memory_order_relaxed);
  thread_ = std::thread([this, work = std::move(work)] {
    outcome_ = work();
    ended_.store(true, std::memory_order_release);
  });
}

SaveOutcome SaveTask::wait() {
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

}  // namespace ds
