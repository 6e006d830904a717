// find_race(): one sweep over the ops in which each piece of memory records its last writer and
// later readers.
//
// Comparing an op with the last writer and with each stream's last reader is enough: earlier
// accesses to the same bytes are ordered before those, or were reported.
#include "engine/program/find_race.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"

namespace ds {
namespace {

/// An op and how it touched a piece; op -1: none.
struct Touch {
  int op = -1;
  Access access;
};

/// Bytes with the same history.
struct Piece {
  std::int64_t end = 0;
  Touch writer;
  std::vector<Touch> readers;  // since `writer`, the last one of each stream
};

/// Pieces by their first byte. They never overlap; untouched bytes have no piece.
using Memory = std::map<std::int64_t, Piece>;

class Sweep {
 public:
  explicit Sweep(const std::vector<ScheduledOp>& ops) : ops_(ops) {
    for (const ScheduledOp& op : ops) streams_ = std::max(streams_, op.stream + 1);
    now_.assign(static_cast<std::size_t>(streams_), {});
    for (auto& clock : now_) clock.assign(static_cast<std::size_t>(streams_), -1);
    clocks_.reserve(ops.size());
  }

  std::optional<Race> run() {
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      tick(i);
      // Reads first: an op may read and write the same bytes.
      for (const bool write : {false, true}) {
        for (const Access& access : ops_[static_cast<std::size_t>(i)].accesses) {
          if (access.write != write || access.begin >= access.end) continue;
          if (std::optional<Race> race = touch({i, access})) return race;
        }
      }
    }
    return std::nullopt;
  }

 private:
  using Clock = std::vector<int>;  // by stream: its last op that is known to have ended

  [[nodiscard]] const ScheduledOp& op(int i) const { return ops_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] static std::size_t at(int stream) { return static_cast<std::size_t>(stream); }

  // Updates the clock of op i's stream: what has ended when op i begins, and op i itself.
  void tick(int i) {
    Clock& clock = now_[at(op(i).stream)];
    for (const int before : op(i).waits) {
      DS_ASSERT(before >= 0 && before < i, "an op must wait only for earlier ops");
      const Clock& known = clocks_[static_cast<std::size_t>(before)];
      for (std::size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], known[s]);
    }
    clock[at(op(i).stream)] = i;
    clocks_.push_back(clock);
  }

  [[nodiscard]] bool is_before(int first, int second) const {
    if (first == second) return true;
    return clocks_[static_cast<std::size_t>(second)][at(op(first).stream)] >= first;
  }

  std::optional<Race> touch(const Touch& now) {
    Memory& memory = memories_[now.access.memory];
    split(memory, now.access.begin);
    split(memory, now.access.end);
    std::int64_t cursor = now.access.begin;
    for (auto piece = memory.lower_bound(cursor);
         piece != memory.end() && piece->first < now.access.end; ++piece) {
      if (std::optional<Race> race = compare(piece->second, now)) return race;
    }
    if (now.access.write) {
      memory.erase(memory.lower_bound(now.access.begin), memory.lower_bound(now.access.end));
      memory[now.access.begin] = {.end = now.access.end, .writer = now, .readers = {}};
    } else {
      read(memory, now);
    }
    return std::nullopt;
  }

  std::optional<Race> compare(const Piece& piece, const Touch& now) const {
    std::optional<Race> race;
    const auto check = [&](const Touch& before) {
      if (race || before.op < 0 || is_before(before.op, now.op)) return;
      race = Race{before.op, now.op, before.access, now.access};
    };
    check(piece.writer);
    if (!now.access.write) return race;
    for (const Touch& reader : piece.readers) check(reader);
    return race;
  }

  // Adds a reader to every piece of the range; untouched bytes become new pieces.
  void read(Memory& memory, const Touch& now) const {
    std::int64_t cursor = now.access.begin;
    while (cursor < now.access.end) {
      auto piece = memory.lower_bound(cursor);
      const bool is_known = piece != memory.end() && piece->first == cursor;
      if (!is_known) {
        const std::int64_t end =
            piece == memory.end() ? now.access.end : std::min(piece->first, now.access.end);
        piece = memory.emplace(cursor, Piece{.end = end, .writer = {}, .readers = {}}).first;
      }
      add_reader(piece->second, now);
      cursor = piece->second.end;
    }
  }

  void add_reader(Piece& piece, const Touch& now) const {
    for (Touch& reader : piece.readers) {
      if (op(reader.op).stream != op(now.op).stream) continue;
      reader = now;
      return;
    }
    piece.readers.push_back(now);
  }

  static void split(Memory& memory, std::int64_t where) {
    auto after = memory.lower_bound(where);
    if (after == memory.begin()) return;
    Piece& piece = std::prev(after)->second;
    if (piece.end <= where) return;
    Piece right = piece;
    piece.end = where;
    memory.emplace_hint(after, where, std::move(right));
  }

  const std::vector<ScheduledOp>& ops_;
  int streams_ = 1;
  std::vector<Clock> now_;     // by stream: what its latest op knows
  std::vector<Clock> clocks_;  // by op: what had ended when it ended
  std::map<int, Memory> memories_;
};

}  // namespace

std::optional<Race> find_race(const std::vector<ScheduledOp>& ops) { return Sweep(ops).run(); }

}  // namespace ds
