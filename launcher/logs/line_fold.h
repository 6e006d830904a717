// Folds equal lines of many ranks into one line with the ranks that wrote it. Pure: the clock is an
// argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/logs/fold_store.h"

namespace ds::launcher {

/// A line that leaves the fold.
struct FoldedLine {
  std::span<const int> ranks;  // ascending
  std::string_view text;       // with its '\n', or '\r' (progress), unless it is a piece
  bool piece = false;          // part of one rank's line that is too long or grew no further
  Clock::time_point first{};   // when the first of these ranks wrote it
};

/// Folds one stream (stdout or stderr) of all ranks. A line waits at most kWindow for the same line
/// of other ranks, and leaves at once when all ranks that still write have written it. While more
/// than half of all ranks agree on another line, a line of one rank alone leaves at once, unless an
/// earlier line that this rank shares with others still waits.
/// Promise: the lines of a rank leave in their order, each of them once.
/// Memory:  kMaxBytes; beyond that the oldest lines leave early. Unfinished lines: kMaxLine a rank.
/// Cost:    one comparison for a line that others write in the same order, else one table lookup.
class LineFold {
 public:
  static constexpr std::chrono::milliseconds kWindow{250};
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  /// Longer lines are passed on in pieces, unfolded.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;
  using Emit = std::function<void(const FoldedLine&)>;

  explicit LineFold(Emit emit) : emit_(std::move(emit)) {}
  /// The ranks start (again). `writes`: by rank, whether it may write anything. Flushes first.
  void start(const std::vector<bool>& writes);

  /// Adds what a rank wrote at time `at`; `flags` as in line_batcher.h.
  void add(int rank, std::uint8_t flags, std::string_view text, Clock::time_point at,
           Clock::time_point now);
  /// The rank writes nothing more: no line waits for it.
  void ended(int rank, Clock::time_point at, Clock::time_point now);
  /// Emits lines that have waited kWindow.
  void tick(Clock::time_point now);
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  /// Emits everything that waits, unfinished lines too.
  void flush();

 private:
  struct Rank {
    std::string open{};           // an unfinished line
    bool in_piece = false;        // the beginning of the line has been passed on
    int waiting = 0;              // number of waiting groups with this rank
    int shared = 0;               // number of those that have other ranks too
    FoldGroup* last = nullptr;    // the youngest of those
    FoldGroup* opened = nullptr;  // the oldest waiting group that this rank opened
    FoldGroup* last_opened = nullptr;
  };

  void line(int rank, std::string_view text, Clock::time_point at, Clock::time_point now);
  void piece(int rank, std::string_view text, Clock::time_point at);
  void open_group(int rank, std::string_view text, Clock::time_point at, Clock::time_point now);
  void join(int rank, FoldGroup& group);
  void look_at_crowd(FoldGroup& group);
  [[nodiscard]] bool is_complete(const FoldGroup& group) const;
  void let_stray_go(int rank);
  void let_freed_go();
  void emit(FoldGroup& group);
  void emit_up_to(std::uint64_t number);
  void emit_with_past(FoldGroup& group);
  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  Emit emit_;
  std::vector<Rank> ranks_;
  std::vector<std::uint64_t> writing_;  // bits of the ranks that still write
  int still_writing_ = 0;
  FoldStore store_{0};
  FoldGroup* crowd_ = nullptr;  // the youngest waiting group of a crowd
  std::vector<int> freed_;      // ranks whose waiting lines are all their own now
  std::vector<int> members_;    // of the group that is being emitted
};

}  // namespace ds::launcher
