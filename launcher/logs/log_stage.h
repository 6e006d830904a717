// The stage that writes a log file for each rank, on the launcher's machine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/logs/output_stage.h"
#include "launcher/logs/rank_files.h"
#include "launcher/logs/rank_prefixes.h"

namespace ds::launcher {

class LogStage final : public OutputStage {
 public:
  /// `paths` by rank. `stamps`: null, or the clock whose time goes before each line. `on_change`
  /// is called from another thread, as RankFiles does it.
  LogStage(std::vector<std::string> paths, const LineClock* stamps, std::function<void()> on_change,
           OutputStage& next)
      : stamps_(stamps),
        next_(next),
        files_(std::make_unique<RankFiles>(std::move(paths), RankFiles::Begin::empty,
                                           std::move(on_change))) {}

  void take(const Output& output) override {
    if (output.rank != -1 && !given_up_) {
      const std::string stamp =
          stamps_ == nullptr ? std::string() : time_text(stamps_->of(output).wall) + ' ';
      files_->add(static_cast<std::size_t>(output.rank), output.stream, text_of(output), stamp);
    }
    next_.take(output);
  }
  void finish() override { next_.finish(); }

  /// The disk has not answered for too long: nothing waits for it any more.
  void give_up() {
    if (written()) return;
    given_up_ = true;
    files_->give_up("the disk does not answer");
  }
  [[nodiscard]] bool is_behind(bool was) const {
    return !given_up_ && files_->queued() > (was ? RankFiles::kLow : RankFiles::kHigh);
  }
  /// Returns whether nothing waits to be written, or nobody waits for it.
  [[nodiscard]] bool written() const { return given_up_ || files_->queued() == 0; }
  /// Returns what to tell people since the last call, at most one line.
  std::optional<std::string> problem() { return files_->problem(); }
  [[nodiscard]] IncompleteFiles incomplete() const { return files_->incomplete(); }

 private:
  const LineClock* stamps_;
  OutputStage& next_;
  std::unique_ptr<RankFiles> files_;
  bool given_up_ = false;
};

}  // namespace ds::launcher
