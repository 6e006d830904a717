// OpTimes: when each op of a program began and ended, for traces (docs/metrics.md, Trace).
#pragma once

#include <cstddef>
#include <memory>

#include "engine/base/trace_buffer.h"
#include "engine/device/device.h"
#include "engine/program/program.h"

namespace ds {

/// Follows the runs of executors, one after the other. Has room for programs of `most_ops` ops.
class OpTimes {
 public:
  OpTimes(Device& device, std::size_t most_ops, TraceBuffer& trace)
      : times_(device.make_stream_times(2 * most_ops)), trace_(trace) {}

  /// Starts a run; all streams are idle.
  void start(Stream& compute) { times_->start(compute); }
  // Call these two from the work of `stream`, around an op.
  void begin(std::size_t op, Stream& stream) { times_->note(2 * op, stream); }
  void end(std::size_t op, Stream& stream) { times_->note(2 * op + 1, stream); }
  /// Records the ops of a run that is complete; all streams are idle. `program` must outlive the
  /// trace.
  void finish(const Program& program) {
    for (std::size_t op = 0; op < program.ops.size(); ++op)
      trace_.add({.kind = TraceSpan::Kind::op,
                  .what = static_cast<std::int64_t>(op),
                  .program = &program,
                  .begin = times_->at(2 * op),
                  .end = times_->at(2 * op + 1)});
  }

 private:
  std::unique_ptr<StreamTimes> times_;
  TraceBuffer& trace_;
};

}  // namespace ds
