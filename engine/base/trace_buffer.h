// TraceBuffer: what a rank did and when, in the steps of a trace, recorded without allocating.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/deadline.h"

namespace ds {

struct Program;

/// A stretch of time. `what`: of a step its number, of a phase its StepPhase, of an op its index in
/// `program`.
struct TraceSpan {
  enum class Kind : std::uint8_t { step, phase, op } kind = Kind::step;
  std::int64_t what = 0;
  const Program* program = nullptr;  // of ops
  Clock::time_point begin{}, end{};
};

/// Threads: only the one that runs the steps.
class TraceBuffer {
 public:
  explicit TraceBuffer(std::size_t capacity) { spans_.reserve(capacity); }

  /// Records a span, or counts it as dropped when the buffer is full. A phase that goes on where
  /// the last span ended makes that longer.
  void add(const TraceSpan& span) {
    if (span.kind == TraceSpan::Kind::phase) {
      if (span.begin == span.end) return;
      if (!spans_.empty() && continues(spans_.back(), span)) {
        spans_.back().end = span.end;
        return;
      }
    }
    if (spans_.size() < spans_.capacity()) {
      spans_.push_back(span);
    } else {
      ++dropped_;
    }
  }

  [[nodiscard]] std::span<const TraceSpan> spans() const { return spans_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }

 private:
  static bool continues(const TraceSpan& last, const TraceSpan& next) {
    return last.kind == next.kind && last.what == next.what && last.end == next.begin;
  }

  std::vector<TraceSpan> spans_;
  std::int64_t dropped_ = 0;
};

}  // namespace ds
