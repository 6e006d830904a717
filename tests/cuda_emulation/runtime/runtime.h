// Runtime: streams are queues. A call that waits runs queued work in an order that only streams and
// events restrict.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda_emulation.h"
#include "grid.h"
#include "memory.h"

namespace emulation {

/// One recording of an event.
struct Mark {
  bool done = false;
  double seconds = 0;
};

/// Work in a queue. Only the first work of a stream is attempted.
struct Work {
  /// Returns success: done; cudaErrorNotReady: not yet; any other error ends the device.
  std::function<cudaError_t()> attempt = {};
  std::shared_ptr<Mark> waits_for = {};  // null: nothing
  bool unlocked = false;                 // attempted without the runtime's lock: host code
};

}  // namespace emulation

/// Work of one stream, captured to run repeatedly.
struct CUgraph_st {
  std::vector<emulation::Work> works;
  bool broken = false;  // captured something that a graph cannot hold
};
struct CUgraphExec_st {
  std::vector<emulation::Work> works;
};

struct CUstream_st {
  std::deque<emulation::Work> queue;
  bool busy = false;     // its first work is being attempted without the lock
  bool in_vain = false;  // its first work was not ready since anything else happened
  bool ended = false;    // destroyed: removed when its queue is empty
  std::uint64_t priority = 0;
  std::unique_ptr<CUgraph_st> capture;  // takes the work during a capture
  int device = 0;
};

struct CUevent_st {
  std::shared_ptr<emulation::Mark> last;
  bool timing = true;
};

namespace emulation {

using Held = std::unique_lock<std::mutex>;

/// Functions with a Held& may release the lock temporarily; all others need it held.
class Runtime {
 public:
  static Runtime& get();

  /// Returns success, no device, or the error that ended the device. Every API function checks it
  /// first.
  [[nodiscard]] cudaError_t usable() const;
  cudaError_t enqueue(Held& held, cudaStream_t stream, Work work);
  /// For operations that a capture cannot hold: invalidates a capture in progress on `stream`.
  cudaError_t not_in_capture(cudaStream_t stream);
  cudaError_t launch(Held& held, const cudaLaunchConfig_t& config, const void* function,
                     std::unique_ptr<KernelCall> call);
  /// Runs queued work until `done`.
  cudaError_t wait(Held& held, const std::function<bool()>& done);
  cudaError_t wait_for_stream(Held& held, cudaStream_t stream);
  /// Waits for the streams of the calling thread's device.
  cudaError_t wait_for_all(Held& held);
  /// Does at most one piece of work, for polling. Returns false if nothing could run.
  bool step(Held& held);

  cudaStream_t make_stream();
  void end_stream(CUstream_st* stream);
  /// Returns the stream; the null stream has its own. Null: no such stream.
  CUstream_st* find(cudaStream_t stream);

  /// Ends the device and drops queued work.
  cudaError_t fault(cudaError_t status, const std::string& message);
  void reset_faults();
  void set_knobs(const Knobs& knobs);
  /// Returns the bytes that this process has allocated or may allocate.
  [[nodiscard]] std::size_t capacity() const {
    const auto age = std::chrono::steady_clock::now() - started;
    return age < std::chrono::milliseconds(knobs.freed_late) ? memory.used() : knobs.memory;
  }

  std::mutex lock;
  Memory memory;
  Knobs knobs;
  std::string fault_text;
  std::uint64_t launches = 0;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::set<const void*> large_shared;  // kernels with opt-in to more than 48 KiB

 private:
  Runtime();
  [[nodiscard]] static bool may_run(const CUstream_st& stream);
  void run_first(Held& held, const std::shared_ptr<CUstream_st>& stream);
  cudaError_t run_kernel(const GridShape& shape, const KernelCall& call, const void* function);
  void run_some(Held& held);
  void draw_habits();
  void run_in_background();

  enum class Habit { lazy, eager, mixed };
  Random random_{1};
  Habit habit_ = Habit::lazy;
  bool by_priority_ = false;
  cudaError_t sticky_ = cudaSuccess;
  std::vector<std::shared_ptr<CUstream_st>> streams_;  // the first is the null stream
  std::size_t queued_ = 0;
  std::uint64_t activity_ = 0, kernels_run_ = 0;
  bool background_started_ = false;
  std::condition_variable changed_;
};

/// Returns the current device of the calling thread.
int current_device();
/// Sets the result of cudaGetLastError() in this thread.
cudaError_t remember(cudaError_t status);
/// Calls `body(runtime, held)` if a working device exists.
template <class Body>
cudaError_t with_device(Body body) {
  Runtime& runtime = Runtime::get();
  Held held(runtime.lock);
  cudaError_t status = runtime.usable();
  if (status == cudaSuccess) status = body(runtime, held);
  runtime.memory.hide();
  return remember(status);
}
/// Returns the kernel's name for messages, or library and offset if the loader does not know it.
std::string name_of(const void* function);

}  // namespace emulation
