// OpSite and BoundOp: an op at its place in memory, and the call that its binder makes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/step_phases.h"
#include "engine/comm/collectives.h"
#include "engine/device/device.h"
#include "engine/program/program.h"
#include "engine/schedule/update_numbers.h"
#include "engine/storage/tile_files.h"

namespace ds {

class OpTimes;  // engine/execute/op_times.h

/// What one run of a program shares with its caller.
struct StepContext {
  UpdateNumbers update;              // for the optimizer ops; set by the control op's callback
  float loss_scale = 1;              // for the gradients of the backward pass
  std::uint64_t seed = 0, step = 0;  // the keys of dropout
  Clock::duration comm_timeout = std::chrono::hours(1);  // for ranks that make progress
  std::function<void(StepContext&)> on_control;          // called by the control op
  std::function<void(std::size_t)> after_op;  // called after an op, on its stream's thread
  std::uint64_t progress = 0;                 // ops finished since training began
  PhaseClock* phases = nullptr;               // follows the thread that calls run(); may be null
  OpTimes* times = nullptr;                   // gets the times of the ops; null: no trace
};

/// An op that is ready to run. Runs without allocating memory.
using BoundOp = std::function<void(StepContext&)>;

/// An op at its place. The references outlive the bound op, the site itself does not.
struct OpSite {
  const Program& program;
  const Op& op;
  Device& device;
  Kernels& kernels;
  Stream& stream;
  Group* group;                           // null: not a communication op
  TileFiles* files;                       // null: nothing lies in files
  std::span<const std::int64_t> offsets;  // by value: bytes into its tier
  const std::function<Tensor(ValueId)>& tensor;
  std::function<void()> finish_device;  // waits until the device has done all that was issued

  /// Returns the memory of an operand; empty for kNoValue.
  [[nodiscard]] Tensor in(std::size_t i) const {
    return i < op.in.size() ? tensor(op.in[i]) : Tensor{};
  }
  [[nodiscard]] Tensor out(std::size_t i) const {
    return i < op.out.size() ? tensor(op.out[i]) : Tensor{};
  }
};

/// Binds a kernel whose arguments are the same in every step.
template <class Args>
BoundOp call(const OpSite& site, const Args& args) {
  return [args, &kernels = site.kernels, &stream = site.stream](StepContext&) {
    kernels.run(args, stream);
  };
}

/// Binds a kernel of which `change(args, context)` sets what differs from step to step.
template <class Args, class Change>
BoundOp call(const OpSite& site, const Args& args, Change change) {
  return [args, change, &kernels = site.kernels, &stream = site.stream](StepContext& context) {
    Args now = args;
    change(now, context);
    kernels.run(now, stream);
  };
}

/// Binds a kernel with dropout: seed and step of its random numbers change from step to step.
template <class Args>
BoundOp call_with_draw(const OpSite& site, const Args& args, DropoutDraw Args::*draw) {
  return call(site, args, [draw](Args& now, const StepContext& context) {
    (now.*draw).seed = context.seed;
    (now.*draw).step = context.step;
  });
}

}  // namespace ds
