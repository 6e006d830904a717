// The copy of a rank's states that a save is written from: made while the next step computes, at
// the rate of memory, into memory that is there.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/execute/executor.h"
#include "engine/execute/held_states.h"
#include "engine/states/saved_states.h"

namespace ds {

/// What one copy has cost.
struct SnapshotTimes {
  double copied_s = 0;  // from begin() until all was there
  double stall_s = 0;   // of that, for how long a step stood because it would have written states
};

/// begin() and end() are for the thread that runs steps, and are called in turn.
class Snapshot {
 public:
  /// `held`: of the executors that may run meanwhile. `threads` share the copies of host memory.
  Snapshot(Device& device, HeldStates& held, std::span<std::byte> memory, int threads);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Copies the tiles that lie in memory to their places; returns at once. They are the executor's,
  /// of which nothing runs now; steps may run from now on.
  void begin(const Executor& executor, std::span<const SavedTile> tiles);
  /// Returns when all is there. Any thread.
  void wait();
  /// After wait(). Errors: Error{system}: the device's own copies failed.
  SnapshotTimes end();

  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

 private:
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
  };
  std::int64_t add(const Executor& executor, ValueId id, std::int64_t offset, std::int64_t elements,
                   std::byte* to);
  void copy_host_memory();

  Device& device_;
  HeldStates& held_;
  const std::span<std::byte> memory_;
  const int threads_;
  std::vector<Copy> of_device_, of_host_;
  std::vector<HeldRange> ranges_;
  Clock::time_point began_, copied_;
  std::mutex mutex_;  // of is_there_ and copied_
  std::condition_variable there_;
  bool is_there_ = true;
  std::unique_ptr<Event> device_copied_;
  std::unique_ptr<Stream> device_stream_;  // only where host code does not reach the device
  std::unique_ptr<Stream> host_stream_;    // last: it ends before what it uses
};

/// Makes memory resident, so that the first snapshot is as fast as the others.
void touch_pages(std::span<std::byte> memory);

}  // namespace ds
