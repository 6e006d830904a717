// Issues a program's list of ops to streams. It knows nothing of ZeRO, of accumulation, of offload
// or of the model: passes did that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/execute/held_states.h"
#include "engine/execute/segments.h"
#include "engine/kernels/kernels.h"
#include "engine/optim/update_control.h"
#include "engine/program/edges.h"
#include "engine/program/program.h"
#include "engine/storage/tile_files.h"

namespace ds {

/// What one run of a program shares with its owner.
struct StepContext {
  UpdateNumbers update;              // of the optimizer ops; set by the control op's callback
  float loss_scale = 1;              // of the gradients that the backward pass makes
  std::uint64_t seed = 0, step = 0;  // what dropouts draw by
  Clock::duration comm_timeout = std::chrono::hours(1);  // of ranks that get on
  std::function<void(StepContext&)> on_control;          // called by the control op
  std::function<void(std::size_t)> after_op;  // called when an op has run, on its stream's thread
  std::uint64_t progress = 0;                 // ops finished since the start of training
};

/// Where a program runs: by tier, by stream. All of it outlives the executor.
struct Workplace {
  std::array<std::byte*, kTiers> memory{};  // arenas; nvme has none
  TileFiles* files = nullptr;               // of Tier::nvme
  std::array<Stream*, kStreams> streams{};  // those that programs use; compute: the caller's
  std::array<Group*, kStreams> groups{};    // of communication, by the stream that it runs on
  Activity* activity = nullptr;             // what those see who wait for this rank; may be null
  HeldStates* held = nullptr;               // ops that would write them wait; may be null
  bool records = false;                     // segments are recorded where the device can
};
/// One arena, one stream, one group.
Workplace make_workplace(std::byte* arena, Group* world, Stream& stream);

class Executor {
 public:
  /// Binds every value of `program` to its tier's memory + offsets[value] and every op to its
  /// kernel, once: run() allocates nothing. `edges` as of edges_of() for the same offsets.
  Executor(const Program& program, std::span<const std::int64_t> offsets, const Edges& edges,
           Backend& backend, const Workplace& workplace);

  Executor(const Executor&) = delete;  // Bound ops point at this executor.
  Executor& operator=(const Executor&) = delete;

  /// Runs all ops; returns when all streams are done. Errors: Error{comm, system, deadline} with
  /// the op's path in front; the first of several.
  void run(StepContext& context);

  /// The memory of a value that lies in an arena; no data for one in files.
  [[nodiscard]] Tensor tensor(ValueId id) const;
  /// Whether host code may use tensor(id).data.
  [[nodiscard]] bool host_reaches(ValueId id) const;
  [[nodiscard]] Tier tier(ValueId id) const { return program_.value(id).tier; }
  /// Copies bytes of any tier of memory once everything issued on the compute stream is done.
  void copy_out(const void* from, std::span<std::byte> to) const;
  void copy_in(std::span<const std::byte> from, void* to) const;
  /// Where the values lie in their tiers, in bytes.
  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  /// Where a value lies in its tier, in bytes.
  [[nodiscard]] std::int64_t offset(ValueId id) const {
    return offsets_[static_cast<std::size_t>(id)];
  }

 private:
  using Bound = std::function<void(StepContext&)>;
  Bound bind(const Op& op);
  Bound bind_forward(const Op& op);
  Bound bind_backward(const Op& op);
  Bound bind_dropout(const Op& op);
  Bound bind_gated(const Op& op);
  Bound bind_step(const Op& op);
  Bound bind_clear(const Op& op);
  Bound bind_copy(const Op& op);
  Bound bind_exchange(const Op& op);
  Bound bind_all_gather(const Op& op);
  template <class Args>
  Bound call(const Op& op, Args args);
  void keep_weights(const OptimizerUpdate& update, Stream& stream, Kernels& kernels);
  void wait_for_device();
  void wait_for_all();
  void note_progress(std::size_t index);
  std::size_t issue(std::size_t index);
  bool issue_recorded(std::size_t segment);
  void respect_held(std::size_t index);
  void run_op(std::size_t index);
  void tell(const Op& op);
  void fail(std::size_t index);
  [[nodiscard]] Stream& stream_of(const Op& op) const;
  [[nodiscard]] Group& group_of(const Op& op) const;
  [[nodiscard]] Kernels& kernels_of(const Op& op) const;
  [[nodiscard]] Tensor in(const Op& op, std::size_t index) const;
  [[nodiscard]] Tensor out(const Op& op, std::size_t index) const;

  const Program& program_;
  std::vector<std::int64_t> offsets_;
  Device& device_;
  Kernels& kernels_;
  Kernels* const host_kernels_;  // of StreamId::host; null: there is none
  Workplace at_;
  std::vector<Bound> bound_;
  std::vector<std::vector<Event*>> waits_;      // by op
  std::vector<std::unique_ptr<Event>> events_;  // by op; null: nobody waits for it
  // On a device that works behind the caller's back: now and then a point of the compute stream.
  std::vector<std::unique_ptr<Event>> milestones_;
  std::size_t milestones_issued_ = 0;
  /// A segment and, from its second run on, its recording.
  struct Recorded {
    Segment ops;
    bool has_run = false;
    float loss_scale = 0;  // of the recording
    std::unique_ptr<Recording> recording{};
  };
  std::vector<Recorded> segments_;
  std::size_t next_segment_ = 0;  // of the run under way
  StepContext* context_ = nullptr;
  std::mutex mutex_;  // of error_
  std::exception_ptr error_;
  std::atomic<bool> stopped_{false};  // an error: nothing more is issued
  std::atomic<bool> broken_{false};   // communication ended: what was issued is left out too
};

template <class Args>
Executor::Bound Executor::call(const Op& op, Args args) {
  Stream& stream = stream_of(op);
  Kernels& kernels = kernels_of(op);
  return [args, &stream, &kernels](StepContext&) { kernels.run(args, stream); };
}

}  // namespace ds
