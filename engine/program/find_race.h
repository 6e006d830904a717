// find_race(): checks with vector clocks over streams that a schedule orders all ops that touch the
// same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ds {

/// Bytes of one memory that an op reads or writes; `value` is for messages.
struct Access {
  int memory = 0;
  std::int64_t begin = 0, end = 0;
  bool write = false;
  int value = -1;
};

struct ScheduledOp {
  int stream = 0;
  std::vector<int> waits;  // earlier ops that end before this one begins
  std::vector<Access> accesses;
};

/// Two ops without an order between them, and the bytes that both touch, at least one writing.
struct Race {
  int first = -1, second = -1;  // indices of ops
  Access of_first, of_second;
  [[nodiscard]] std::int64_t begin() const {
    return of_first.begin > of_second.begin ? of_first.begin : of_second.begin;
  }
  [[nodiscard]] std::int64_t end() const {
    return of_first.end < of_second.end ? of_first.end : of_second.end;
  }
};

/// Returns the first pair in list order, if any. Ops of one stream run one after the other in list
/// order; ops of different streams are ordered only by waits. The list is one possible order, so an
/// op waits only for earlier ones; anything else is a bug (DS_ASSERT).
std::optional<Race> find_race(const std::vector<ScheduledOp>& ops);

}  // namespace ds
