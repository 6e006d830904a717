// The stage that keeps output while the reader or the log disk is slow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "launcher/logs/flow_control.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/spool.h"

namespace ds::launcher {

/// Passes output on until a later stage is behind. From then on it keeps output as it arrived,
/// without prefixes, and holds the nodes' credit back until all of it has been passed on.
/// Memory:  what nodes may send without further credit.
class Backlog final : public OutputStage {
 public:
  /// `is_behind(was)` returns whether too much waits in a later stage; with `was`, whether more
  /// waits than little.
  Backlog(FlowControl& flow, std::function<bool(bool was)> is_behind, OutputStage& next)
      : flow_(flow), is_behind_(std::move(is_behind)), next_(next) {}

  void take(const Output& output) override {
    if (flow_.held()) return waiting_.push(output);
    next_.take(output);
    look();
  }
  void finish() override {
    finished_ = true;
    finish_when_empty();
  }
  /// A later stage has made progress: passes on what it can take now.
  void look() {
    if (is_behind_(flow_.held())) return flow_.hold();
    if (!flow_.held()) return;
    while (const std::optional<Output> oldest = waiting_.front()) {
      next_.take(*oldest);
      waiting_.pop();
      if (is_behind_(false)) return;
    }
    flow_.release();
    finish_when_empty();
  }
  /// Returns whether everything that ever arrived has been passed on, and the end too.
  [[nodiscard]] bool drained() const { return told_ && !flow_.held(); }

 private:
  void finish_when_empty() {
    if (finished_ && !flow_.held() && !std::exchange(told_, true)) next_.finish();
  }

  FlowControl& flow_;
  std::function<bool(bool was)> is_behind_;
  OutputStage& next_;
  Spool waiting_{UINT64_MAX, false, SIZE_MAX};  // all of it in memory: credit bounds it
  bool finished_ = false;
  bool told_ = false;  // the next stage knows that the ranks are done
};

}  // namespace ds::launcher
