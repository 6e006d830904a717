// Snapshot: the copy of a rank's states that a save writes.
// It is made while the next step computes, at memory speed, into memory that is already resident.
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

/// Cost of one copy.
struct SnapshotTimes {
  double copied_s = 0;  // from begin() until the copy was complete
  double stall_s = 0;   // part of copied_s in which a step waited to write states
};

/// begin() and end() alternate, on the thread that runs steps.
class Snapshot {
 public:
  /// `held` belongs to the executors that may run during a copy. `threads` copy the host memory.
  Snapshot(Device& device, HeldStates& held, std::span<std::byte> memory, int threads);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  /// Starts to copy the tiles in memory to their places and returns at once. `executor` owns the
  /// tiles and runs nothing now; steps may run from now on.
  void begin(const Executor& executor, std::span<const SavedTile> tiles);
  /// Returns when the copy is complete. Any thread.
  void wait();
  /// Returns the times of the copy. After wait(). Errors: Error{system} if a device copy failed.
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
  std::mutex mutex_;  // guards is_there_ and copied_
  std::condition_variable there_;
  bool is_there_ = true;
  std::unique_ptr<Event> device_copied_;
  std::unique_ptr<Stream> device_stream_;  // only if host code cannot reach device memory
  std::unique_ptr<Stream> host_stream_;    // last member, so that it ends before what it uses
};

/// Makes memory resident, so that the first snapshot is as fast as later ones.
void touch_pages(std::span<std::byte> memory);

}  // namespace ds
