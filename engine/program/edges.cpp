// edges_of(): one walk over the ops that tracks the last writer and the later readers of each byte
// range.
#include "engine/program/edges.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

/// By stream: its last op that is known to have ended; -1: none.
using VectorClock = std::array<int, kStreams>;

constexpr VectorClock none_ended() {
  VectorClock clock{};
  clock.fill(-1);
  return clock;
}

void join(VectorClock& clock, const VectorClock& other) {
  for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
}

/// The last accesses to a range of bytes.
struct Touch {
  std::int64_t end = 0;
  int writer = -1;
  VectorClock readers = none_ended();  // since the writer
};

/// Disjoint ranges of one tier's bytes, by their first byte.
class TouchMap {
 public:
  /// Calls `visit` with every part of [begin, end), cut to it; untouched bytes become new parts.
  template <class Visit>
  void for_range(std::int64_t begin, std::int64_t end, const Visit& visit) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    auto at = parts_.lower_bound(begin);
    for (std::int64_t cursor = begin; cursor < end;) {
      if (at == parts_.end() || at->first > cursor) {
        const std::int64_t until = at == parts_.end() ? end : std::min(end, at->first);
        at = parts_.emplace_hint(at, cursor, Touch{.end = until});
      }
      visit(at->second);
      cursor = at->second.end;
      ++at;
    }
  }
  /// Makes [begin, end) one part.
  void replace(std::int64_t begin, std::int64_t end, const Touch& touch) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    const auto first = parts_.lower_bound(begin);
    parts_.erase(first, parts_.lower_bound(end));
    parts_.emplace(begin, touch);
  }

 private:
  void cut(std::int64_t at) {
    auto part = parts_.upper_bound(at);
    if (part == parts_.begin()) return;
    --part;
    if (part->first == at || part->second.end <= at) return;
    Touch right = part->second;
    part->second.end = at;
    parts_.emplace(at, right);
  }
  std::map<std::int64_t, Touch> parts_;
};

std::size_t stream_of(const Op& op) { return static_cast<std::size_t>(op.stream); }

class EdgeFinder {
 public:
  EdgeFinder(const Program& program, std::span<const std::int64_t> offsets)
      : program_(program), offsets_(offsets), clocks_(program.ops.size()) {
    edges_.waits.resize(program.ops.size());
    edges_.is_awaited.resize(program.ops.size());
    now_.fill(none_ended());
  }

  Edges run() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) add(static_cast<int>(i));
    return std::move(edges_);
  }

 private:
  void add(int index) {
    const auto i = static_cast<std::size_t>(index);
    const Op& op = program_.ops[i];
    VectorClock needed = none_ended();
    const std::vector<Access> accesses = accesses_of(program_, op, offsets_);
    for (const Access& access : accesses) {
      touched_[static_cast<std::size_t>(access.memory)].for_range(access.begin, access.end,
                                                                  [&](Touch& touch) {
                                                                    if (touch.writer >= 0)
                                                                      need(needed, touch.writer);
                                                                    if (access.write)
                                                                      join(needed, touch.readers);
                                                                  });
    }
    wait_for(i, needed);
    for (const Access& access : accesses) {
      TouchMap& map = touched_[static_cast<std::size_t>(access.memory)];
      if (access.write) {
        map.replace(access.begin, access.end, {.end = access.end, .writer = index});
      } else {
        map.for_range(access.begin, access.end,
                      [&](Touch& touch) { touch.readers[stream_of(op)] = index; });
      }
    }
    VectorClock& clock = now_[stream_of(op)];
    clock[stream_of(op)] = index;
    clocks_[i] = clock;
  }

  void need(VectorClock& needed, int op) {
    int& of_stream = needed[stream_of(program_.ops[static_cast<std::size_t>(op)])];
    of_stream = std::max(of_stream, op);
  }

  /// Adds the waits of op i, latest first: what an awaited op has waited for needs no wait of its
  /// own.
  void wait_for(std::size_t i, const VectorClock& needed) {
    std::vector<int> candidates;
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (s != stream_of(program_.ops[i]) && needed[s] >= 0) candidates.push_back(needed[s]);
    }
    std::sort(candidates.rbegin(), candidates.rend());
    VectorClock& clock = now_[stream_of(program_.ops[i])];
    for (const int op : candidates) {
      const auto o = static_cast<std::size_t>(op);
      if (clock[stream_of(program_.ops[o])] >= op) continue;
      edges_.waits[i].push_back(op);
      edges_.is_awaited[o] = true;
      join(clock, clocks_[o]);
    }
  }

  const Program& program_;
  std::span<const std::int64_t> offsets_;
  Edges edges_;
  std::array<TouchMap, kMemories> touched_;
  std::array<VectorClock, kStreams> now_;  // of each stream's last op
  std::vector<VectorClock> clocks_;        // of each op's end
};

}  // namespace

std::vector<Access> accesses_of(const Program& program, const Op& op,
                                std::span<const std::int64_t> offsets) {
  std::vector<Access> accesses;
  const auto add = [&](ValueId id, bool write) {
    if (id == kNoValue) return;
    const std::int64_t begin = offsets[static_cast<std::size_t>(id)];
    accesses.push_back({.memory = static_cast<int>(program.value(id).tier),
                        .begin = begin,
                        .end = begin + bytes_of(program.value(id)),
                        .write = write,
                        .value = id});
  };
  for (const ValueId id : op.in) add(id, false);
  for (const ValueId id : op.out) add(id, true);
  const OpRow& row = row_of(op);
  const auto add_whole = [&](int memory, bool write) {
    accesses.push_back({.memory = memory, .begin = 0, .end = 1, .write = write});
  };
  if (row.decision != Decision::none) add_whole(kDecision, row.decision == Decision::writes);
  if (row.uses_scratch) add_whole(kScratch, true);
  return accesses;
}

Edges edges_of(const Program& program, std::span<const std::int64_t> offsets) {
  return EdgeFinder(program, offsets).run();
}

}  // namespace ds
