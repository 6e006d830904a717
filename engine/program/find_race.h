// Whether a schedule orders every two ops that touch the same bytes: vector clocks over streams.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ds {

/// Bytes of one memory that an op reads or writes; `value` is for reports.
struct Access {
  int memory = 0;
  std::int64_t begin = 0, end = 0;
  bool write = false;
  int value = -1;
};

struct ScheduledOp {
  int stream = 0;
  std::vector<int> waits;  // earlier ops that have ended before this one begins
  std::vector<Access> accesses;
};

/// Two ops that nothing orders, and the bytes that both touch, one of them writing.
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

/// The first pair in list order, if any. Ops of one stream run one after the other in list order;
/// ops of different streams are ordered by waits alone. The list is one possible order, so an op
/// waits for earlier ones only; anything else is a bug (DS_ASSERT).
std::optional<Race> find_race(const std::vector<ScheduledOp>& ops);

}  // namespace ds
