// Executor: issues the ops of a program to streams. ZeRO, accumulation, offload and the model are
// handled by the passes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/step_phases.h"
#include "engine/execute/held_states.h"
#include "engine/execute/segments.h"
#include "engine/program/edges.h"
#include "engine/program/ops/bind.h"
#include "engine/program/program.h"

namespace ds {

/// The memory, streams and groups of a program. They must outlive the executor.
struct Workplace {
  std::array<std::byte*, kTiers> memory{};  // arenas; nvme has none
  TileFiles* files = nullptr;               // for Tier::nvme
  std::array<Stream*, kStreams> streams{};  // the streams that programs use; compute: the caller's
  // For communication: by the ranks that an op runs on, and its stream
  std::map<std::pair<CommRanks, StreamId>, Group*> groups{};
  Activity* activity = nullptr;  // what ranks that wait for this one see; may be null
  HeldStates* held = nullptr;    // ops that would write these states wait; may be null
  bool records = false;          // record segments where the device can
};
/// Returns a workplace of one arena, one stream and one group.
Workplace make_workplace(std::byte* arena, Group* world, Stream& stream);

class Executor {
 public:
  /// Binds every value of `program` to its tier's memory + offsets[value] and every op to its
  /// kernel, once, so that run() allocates nothing. `edges`: from edges_of() for the same offsets.
  Executor(const Program& program, std::span<const std::int64_t> offsets, const Edges& edges,
           Backend& backend, const Workplace& workplace);

  Executor(const Executor&) = delete;  // bound ops point at this executor
  Executor& operator=(const Executor&) = delete;

  /// Runs all ops; returns when all streams are done, and in the phase of the caller. Errors: the
  /// first one that occurs, as Error{comm, system, deadline} beginning with the op's path.
  void run(StepContext& context);

  /// Returns the inputs of a micro-batch; without data where no op reads them.
  [[nodiscard]] std::span<const BatchInput> inputs(std::size_t micro) const {
    return inputs_.at(micro);
  }
  /// Returns the memory of a value in an arena; without data for a value in files.
  [[nodiscard]] Tensor tensor(ValueId id) const;
  /// Returns whether host code may use tensor(id).data.
  [[nodiscard]] bool host_reaches(ValueId id) const;
  [[nodiscard]] Tier tier(ValueId id) const { return program_.value(id).tier; }
  /// As Device::enter_thread().
  void enter_thread() const { device_.enter_thread(); }
  /// Copies bytes of any tier once everything issued on the compute stream is done.
  void copy_out(const void* from, std::span<std::byte> to) const;
  void copy_in(std::span<const std::byte> from, void* to) const;
  /// The offsets of the values in their tiers, in bytes.
  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  /// The offset of a value in its tier, in bytes.
  [[nodiscard]] std::int64_t offset(ValueId id) const {
    return offsets_[static_cast<std::size_t>(id)];
  }

 private:
  BoundOp bind(const Op& op);
  void wait_for_device();
  void wait_for_all();
  void note_progress(std::size_t index);
  void make_waits(std::size_t index);
  void enter(StepPhase phase);
  void follow_device();
  void set_mark();
  std::size_t issue(std::size_t index);
  bool issue_recorded(std::size_t segment);
  void respect_held(std::size_t index);
  void run_op(std::size_t index);
  void tell(const Op& op);
  void fail(std::size_t index);
  [[nodiscard]] Stream& stream_of(const Op& op) const;
  [[nodiscard]] Group* group_of(const Op& op) const;
  [[nodiscard]] Kernels& kernels_of(const Op& op) const;

  const Program& program_;
  std::vector<std::int64_t> offsets_;
  Device& device_;
  Kernels& kernels_;
  Kernels* const host_kernels_;  // for StreamId::host; null: none
  Workplace at_;
  std::vector<std::vector<BatchInput>> inputs_;  // by micro-batch
  std::vector<BoundOp> bound_;
  /// An event that an op waits for, and the phase of the op that ends with it.
  struct Wait {
    Event* event = nullptr;
    StepPhase phase = StepPhase::other;
  };
  std::vector<std::vector<Wait>> waits_;        // by op
  std::vector<StepPhase> phases_;               // by op
  std::vector<std::unique_ptr<Event>> events_;  // by op; null: no op waits for it
  /// A point of the compute stream, and the phase that ends there.
  struct Mark {
    std::unique_ptr<Event> event;
    StepPhase ends = StepPhase::other;
  };
  // On a device that works asynchronously: regular points, and those where the phase changes.
  std::vector<Mark> marks_;
  std::size_t marks_set_ = 0, marks_passed_ = 0;  // in the current run
  StepPhase issued_ = StepPhase::other;           // of what was issued last
  /// A segment and, from its second run on, its recording.
  struct Recorded {
    Segment ops;
    bool has_run = false;
    float loss_scale = 0;  // the loss scale of the recording
    std::unique_ptr<Recording> recording{};
  };
  std::vector<Recorded> segments_;
  std::size_t next_segment_ = 0;  // of the current run
  StepContext* context_ = nullptr;
  std::mutex mutex_;  // guards error_
  std::exception_ptr error_;
  std::atomic<bool> stopped_{false};  // after an error: nothing more is issued
  std::atomic<bool> broken_{false};   // communication ended: issued ops are skipped too
};

}  // namespace ds
