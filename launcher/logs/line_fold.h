// Equal lines of many ranks -> one line with the ranks that wrote it. Pure: the clock is an
// argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/logs/rank_bits.h"

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
/// Memory:  kMaxBytes; beyond them the oldest leave early.
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
  struct Group {  // the ranks that have said the same
    std::string text;
    RankBits ranks;
    std::uint64_t number = 0;
    Clock::time_point due{};
    Clock::time_point first{};
    Group* next_same = nullptr;  // the next one with this text
    bool crowd = false;          // more than half of all
    bool gone = false;
  };
  /// What a group costs, with its place in the tables.
  static constexpr std::size_t kGroupBytes = sizeof(Group) + 64;
  struct Same {  // groups with the same text, in their order
    Group* head = nullptr;
    Group* tail = nullptr;
  };
  struct Rank {
    std::string open{};     // the beginning of a line
    bool in_piece = false;  // the beginning of its line has been passed on
    bool writes = false;
    int waiting = 0;        // groups with it
    int shared = 0;         // of them, with others too
    Group* last = nullptr;  // the youngest of them
  };

  void line(int rank, std::string_view text, Clock::time_point at, Clock::time_point now);
  void piece(int rank, std::string_view text, Clock::time_point at);
  Group* joinable(const Rank& from, std::string_view text);
  Group& open_group(std::string_view text, Clock::time_point at, Clock::time_point now);
  void join(int rank, Group& group);
  [[nodiscard]] bool is_complete(const Group& group) const;
  void let_stray_go(int rank);
  void let_freed_go();
  void emit(Group& group);
  void emit_up_to(std::uint64_t number);
  void emit_with_past(Group& group);
  void unlink(const Group& group);
  void drop_gone();

  Emit emit_;
  std::vector<Rank> ranks_;
  std::size_t writing_ = 0;
  std::deque<Group> groups_;  // by number; references stay valid
  std::unordered_map<std::string_view, Same> same_;
  Group* crowd_ = nullptr;    // the youngest that waits
  std::vector<int> freed_;    // ranks of which only own lines wait now
  std::vector<int> members_;  // of the group that is being emitted
  std::uint64_t next_number_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ds::launcher
