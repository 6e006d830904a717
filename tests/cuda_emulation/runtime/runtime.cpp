// Runtime: queues, their adversarial order, and faults.
#include "runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace emulation {
namespace {

// Limit of held-back work: an unbounded queue would only cost memory.
constexpr std::size_t kMostQueued = 256;
// Work that no host thread waits for runs after this time: other processes may wait for it.
constexpr auto kIdle = std::chrono::milliseconds(10);
constexpr auto kPoll = std::chrono::microseconds(100);
// Larger dynamic shared memory needs opt-in. A device allows 48 KiB less the kernel's static shared
// memory (cuda.h), which is unknown here and assumed to be 1 KiB.
constexpr std::size_t kSharedWithoutAsking = 47 << 10;

}  // namespace

Runtime& Runtime::get() {
  static Runtime* const runtime = new Runtime;  // host threads may outlive statics
  return *runtime;
}

cudaError_t Runtime::usable() const {
  if (!knobs.driver) return cudaErrorInsufficientDriver;
  if (knobs.devices == 0) return cudaErrorNoDevice;
  return sticky_;
}

cudaStream_t Runtime::make_stream() {
  streams_.push_back(std::make_shared<CUstream_st>());
  streams_.back()->device = current_device();
  return streams_.back().get();
}

void Runtime::end_stream(CUstream_st* stream) {
  stream->ended = true;
  if (!stream->queue.empty()) return;
  std::erase_if(streams_, [stream](const auto& other) { return other.get() == stream; });
}

CUstream_st* Runtime::find(cudaStream_t stream) {
  if (stream == nullptr) return streams_.front().get();
  for (const auto& candidate : streams_) {
    if (candidate.get() == stream && !candidate->ended) return stream;
  }
  return nullptr;
}

void Runtime::draw_habits() {
  habit_ = static_cast<Habit>(random_.below(3));
  by_priority_ = random_.below(2) == 0;
  for (const auto& stream : streams_) stream->priority = random_.next();
}

bool Runtime::may_run(const CUstream_st& stream) {
  if (stream.busy || stream.in_vain || stream.queue.empty()) return false;
  const auto& waits_for = stream.queue.front().waits_for;
  return waits_for == nullptr || waits_for->done;
}

bool Runtime::step(Held& held) {
  if (sticky_ != cudaSuccess) return false;  // after a fault the device runs nothing
  std::shared_ptr<CUstream_st> chosen;
  std::uint64_t candidates = 0;
  for (const auto& stream : streams_) {
    if (!may_run(*stream)) continue;
    ++candidates;
    const bool better = by_priority_ ? chosen == nullptr || stream->priority > chosen->priority
                                     : random_.below(candidates) == 0;
    if (better) chosen = stream;
  }
  if (chosen == nullptr) {
    for (const auto& stream : streams_) stream->in_vain = false;  // the next round tries again
    return false;
  }
  run_first(held, chosen);
  return true;
}

void Runtime::run_first(Held& held, const std::shared_ptr<CUstream_st>& stream) {
  Work& work = stream->queue.front();  // elements of a deque do not move
  cudaError_t status = cudaSuccess;
  if (work.attempt != nullptr && work.unlocked) {
    stream->busy = true;
    memory.hide();
    held.unlock();
    status = work.attempt();
    held.lock();
    stream->busy = false;
  } else if (work.attempt != nullptr) {
    memory.show();
    status = work.attempt();
  }
  if (sticky_ != cudaSuccess) return;  // the queue was dropped
  if (status == cudaErrorNotReady) {
    stream->in_vain = true;
    return;
  }
  if (status != cudaSuccess) {
    fault(status, "queued work failed");
    return;
  }
  stream->queue.pop_front();
  --queued_;
  ++activity_;
  for (const auto& other : streams_) other->in_vain = false;
  if (stream->ended && stream->queue.empty()) std::erase(streams_, stream);
  changed_.notify_all();
}

void Runtime::run_some(Held& held) {
  const auto may_go_on = [&] { return sticky_ == cudaSuccess && queued_ > 0; };
  if (habit_ == Habit::eager) {
    while (may_go_on() && step(held)) {
    }
  } else if (habit_ == Habit::mixed && random_.below(4) == 0) {
    for (std::uint64_t i = random_.below(8); i > 0 && may_go_on() && step(held); --i) {
    }
  }
  while (queued_ > kMostQueued && may_go_on() && step(held)) {
  }
}

cudaError_t Runtime::enqueue(Held& held, cudaStream_t stream, Work work) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (queue->capture != nullptr) {
    queue->capture->works.push_back(std::move(work));
    return cudaSuccess;
  }
  if (!background_started_) {
    background_started_ = true;
    std::thread([this] { run_in_background(); }).detach();
  }
  queue->queue.push_back(std::move(work));
  ++queued_;
  run_some(held);
  return sticky_;
}

cudaError_t Runtime::not_in_capture(cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || queue->capture == nullptr) return cudaSuccess;
  queue->capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

void Runtime::run_in_background() {
  Held held(lock);
  while (true) {
    const std::uint64_t seen = activity_;
    memory.hide();
    held.unlock();
    std::this_thread::sleep_for(kIdle);
    held.lock();
    while (queued_ > 0 && activity_ == seen && step(held)) {
      if (activity_ != seen) break;
    }
  }
}

cudaError_t Runtime::wait(Held& held, const std::function<bool()>& done) {
  draw_habits();
  while (sticky_ == cudaSuccess && !done()) {
    if (step(held)) continue;
    memory.hide();
    changed_.wait_for(held, kPoll);
  }
  return sticky_;
}

cudaError_t Runtime::wait_for_stream(Held& held, cudaStream_t stream) {
  if (find(stream) == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = not_in_capture(stream); status != cudaSuccess) return status;
  return wait(held, [this, stream] {
    const CUstream_st* const queue = find(stream);
    return queue == nullptr || queue->queue.empty();
  });
}

cudaError_t Runtime::wait_for_all(Held& held) {
  return wait(held, [this, device = current_device()] {
    return std::ranges::none_of(streams_, [device](const auto& stream) {
      return stream->device == device && !stream->queue.empty();
    });
  });
}

cudaError_t Runtime::fault(cudaError_t status, const std::string& message) {
  if (sticky_ != cudaSuccess) return sticky_;
  sticky_ = status;
  fault_text = message;
  std::fprintf(stderr, "cuda_emulation: %s (seed %llu)\n", message.c_str(),
               static_cast<unsigned long long>(knobs.seed));
  changed_.notify_all();
  return status;
}

void Runtime::reset_faults() {
  sticky_ = cudaSuccess;
  fault_text.clear();
  for (const auto& stream : streams_) stream->queue.clear();
  queued_ = 0;
  static_cast<void>(memory.check_guards());
}

void Runtime::set_knobs(const Knobs& new_knobs) {
  knobs = new_knobs;
  memory.set_hides(knobs.hide);
  random_ = Random(knobs.seed);
  launches = kernels_run_ = 0;
  draw_habits();
}

// Only called by kernels, which run with the lock held.
bool in_shared_memory(const void* data) {
  const auto* const byte = static_cast<const unsigned char*>(data);
  if (byte >= dynamic_shared_bytes && byte < dynamic_shared_bytes + kSharedBytes) return true;
  return Runtime::get().memory.type_of(data) == cudaMemoryTypeUnregistered;
}

cudaError_t Runtime::run_kernel(const GridShape& shape, const KernelCall& call,
                                const void* function) {
  if (++kernels_run_ == knobs.fail_kernel) {
    return fault(cudaErrorLaunchFailure,
                 "kernel " + name_of(function) + " fails because DS_EMULATION_FAIL_KERNEL is set");
  }
  std::string wrong = run_grid(shape, call, random_);
  cudaError_t status = cudaErrorLaunchFailure;
  if (wrong.empty()) {
    wrong = memory.check_guards();
    status = cudaErrorIllegalAddress;
  }
  if (wrong.empty()) return cudaSuccess;
  return fault(status, "kernel " + name_of(function) + ": " + wrong);
}

cudaError_t Runtime::launch(Held& held, const cudaLaunchConfig_t& config, const void* function,
                            std::unique_ptr<KernelCall> call) {
  const dim3 &grid = config.gridDim, &block = config.blockDim;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.x > 0x7FFFFFFFU || grid.y > 65535 || grid.z > 65535) {
    return cudaErrorInvalidConfiguration;
  }
  if (config.dynamicSmemBytes > kSharedBytes ||
      (config.dynamicSmemBytes > kSharedWithoutAsking && !large_shared.contains(function))) {
    return cudaErrorInvalidValue;
  }
  if (++launches == knobs.fail_launch) return cudaErrorLaunchOutOfResources;
  struct Check {
    const Memory& memory;
    std::string wrong;
  } check{memory, {}};
  call->visit_pointers(
      [](void* self, int argument, const void* pointer) {
        auto* const own = static_cast<Check*>(self);
        if (pointer == nullptr || own->memory.type_of(pointer) != cudaMemoryTypeUnregistered)
          return;
        own->wrong = "argument " + std::to_string(argument) +
                     " points to memory that the device cannot reach";
      },
      &check);
  if (!check.wrong.empty()) {
    return fault(cudaErrorIllegalAddress, "kernel " + name_of(function) + ": " + check.wrong);
  }
  const GridShape shape{grid, block, config.dynamicSmemBytes};
  const std::shared_ptr<KernelCall> kept = std::move(call);
  return enqueue(held, config.stream, {.attempt = [this, shape, kept, function] {
                   return run_kernel(shape, *kept, function);
                 }});
}

}  // namespace emulation
