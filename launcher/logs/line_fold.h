// Equal lines of many ranks -> one line with the ranks that wrote it. Pure: the clock is an
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

/// What comes out.
struct FoldedLine {
  std::span<const int> ranks;  // ascending
  std::string_view text;       // with its '\n', or its '\r' (progress), unless it is a piece
  bool piece = false;          // of one rank's line, which has stood still or is too long
  Clock::time_point first{};   // when the first of them wrote it
};

/// One stream (stdout or stderr) of all ranks. A line waits for the same line of other ranks, at
/// most kWindow; it leaves at once when all that still write have said it. A rank's own lines
/// leave at once while more than half of all agree on something else, as soon as nothing that the
/// rank has said before, together with others, still waits.
/// Promise: the lines of a rank come out in their order, each of them once.
/// Memory:  kMaxBytes; beyond them the oldest leave early. Beginnings of lines: kMaxLine a rank.
/// Cost:    of a line that others say in the same order, a comparison; of others a table look-up.
class LineFold {
 public:
  static constexpr std::chrono::milliseconds kWindow{250};
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  /// A longer line is passed on in pieces, unfolded.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;
  using Emit = std::function<void(const FoldedLine&)>;

  explicit LineFold(Emit emit) : emit_(std::move(emit)) {}
  /// The ranks start (again): `writes` by rank: something may come of it. Flushes what was.
  void start(const std::vector<bool>& writes);

  /// `flags` as in line_batcher.h; `at` is when the rank wrote it, `now` the present.
  void add(int rank, std::uint8_t flags, std::string_view text, Clock::time_point at,
           Clock::time_point now);
  /// Nobody waits for this rank any more.
  void ended(int rank, Clock::time_point at, Clock::time_point now);
  /// Lines whose time has come.
  void tick(Clock::time_point now);
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  /// All that waits, also beginnings of lines.
  void flush();

 private:
  struct Rank {
    std::string open{};           // the beginning of a line
    bool in_piece = false;        // the beginning of its line has been passed on
    int waiting = 0;              // groups with it
    int shared = 0;               // of them, with others too
    FoldGroup* last = nullptr;    // the youngest of them
    FoldGroup* opened = nullptr;  // the oldest that it has opened and that waits
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
  FoldGroup* crowd_ = nullptr;  // the youngest that waits
  std::vector<int> freed_;      // ranks of which only own lines wait now
  std::vector<int> members_;    // of the group that is being emitted
};

}  // namespace ds::launcher
