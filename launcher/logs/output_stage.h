// The stages that keep, drop or save output at the root, and the interface of all stages.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/logs/flow_control.h"
#include "launcher/logs/prefix.h"
#include "launcher/logs/rank_files.h"
#include "launcher/logs/spool.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// A stage does one thing with each piece of output and passes it to the next stage, which it was
/// given when it was made. A piece of rank -1 is a line of the launcher itself, without newline,
/// for standard error. `time` is a reading of this machine's clock.
class OutputStage {
 public:
  OutputStage() = default;
  OutputStage(const OutputStage&) = delete;
  OutputStage& operator=(const OutputStage&) = delete;
  virtual ~OutputStage() = default;

  /// `output.bytes` stays valid during the call.
  virtual void take(const Output& output) = 0;
  /// The ranks write nothing more: passes on what the stage holds, then tells the next stage.
  /// Lines of the launcher may still follow.
  virtual void finish() = 0;
};

inline std::string_view text_of(const Output& output) {
  return {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()};
}

/// A line of the launcher itself as a piece of output.
inline Output own_line(std::string_view line) {
  return {.rank = -1, .stream = 2, .bytes = std::as_bytes(std::span(line))};
}

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

/// Drops output of ranks that nobody asked for, and lines that nobody reads fast enough.
class ShowFilter final : public OutputStage {
 public:
  struct Setup {
    std::vector<std::uint8_t> shown;  // by rank: 1 stdout, 2 stderr, added up
    std::function<bool()> drops;      // whether lines are to be dropped now
    std::string elsewhere{};          // appended to the count of dropped lines: where to find them
  };
  ShowFilter(Setup setup, OutputStage& next)
      : setup_(std::move(setup)), next_(next), passed_at_(setup_.shown.size()) {}

  void take(const Output& output) override {
    if (output.rank == -1) return next_.take(output);
    const auto rank = static_cast<std::size_t>(output.rank);
    if ((setup_.shown[rank] & output.stream) == 0) return;
    passed_ += output.bytes.size();
    if (!output.bytes.empty()) passed_at_[rank] = passed_;
    if (!setup_.drops()) return next_.take(output);
    dropped_lines_ += static_cast<std::uint64_t>(
        std::count(output.bytes.begin(), output.bytes.end(), std::byte{'\n'}));
  }
  void finish() override {
    next_.finish();
    say_dropped();
  }
  /// The reader keeps up again: says how many lines it missed, if it did.
  void say_dropped() {
    if (dropped_lines_ == 0) return;
    next_.take(own_line(fmt::format("dslaunch: {} lines were not shown: the reader was too slow{}",
                                    std::exchange(dropped_lines_, 0), setup_.elsewhere)));
  }

  /// Returns how many bytes of other ranks were shown after this rank's last ones; UINT64_MAX for
  /// a rank that is not shown whole.
  [[nodiscard]] std::uint64_t bytes_since(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return setup_.shown[index] == 3 ? passed_ - passed_at_[index] : UINT64_MAX;
  }

 private:
  Setup setup_;
  OutputStage& next_;
  std::uint64_t passed_ = 0;              // bytes, of all ranks
  std::vector<std::uint64_t> passed_at_;  // by rank: `passed_` with its last byte
  std::uint64_t dropped_lines_ = 0;
};

/// Writes a log file for each rank, on the launcher's machine.
class LogStage final : public OutputStage {
 public:
  /// `paths` by rank. `stamps`: null, or the clock whose time goes before each line. `on_change`
  /// is called from another thread, as RankFiles does it.
  LogStage(std::vector<std::string> paths, const LineClock* stamps, std::function<void()> on_change,
           OutputStage& next)
      : stamps_(stamps),
        next_(next),
        files_(std::move(paths), RankFiles::Begin::empty, std::move(on_change)) {}

  void take(const Output& output) override {
    if (output.rank != -1 && !given_up_) {
      const std::string stamp =
          stamps_ == nullptr ? std::string() : time_text(stamps_->of(output).wall) + ' ';
      files_.add(static_cast<std::size_t>(output.rank), output.stream, text_of(output), stamp);
    }
    next_.take(output);
  }
  void finish() override { next_.finish(); }

  /// The disk has not answered for too long: nothing waits for it any more.
  void give_up() {
    if (written()) return;
    given_up_ = true;
    files_.give_up("the disk does not answer");
  }
  [[nodiscard]] bool is_behind(bool was) const {
    return !given_up_ && files_.queued() > (was ? RankFiles::kLow : RankFiles::kHigh);
  }
  /// Returns whether nothing waits to be written, or nobody waits for it.
  [[nodiscard]] bool written() const { return given_up_ || files_.queued() == 0; }
  /// Returns what to tell people since the last call, at most one line.
  std::optional<std::string> problem() { return files_.problem(); }
  [[nodiscard]] IncompleteFiles incomplete() const { return files_.incomplete(); }

 private:
  const LineClock* stamps_;
  OutputStage& next_;
  RankFiles files_;
  bool given_up_ = false;
};

}  // namespace ds::launcher
