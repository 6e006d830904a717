// SaveOutcome: the result of one rank's part of a collective task, and all ranks' results combined.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/comm/collectives.h"

namespace ds {

/// Sent between ranks as bytes.
struct SaveOutcome {
  std::int64_t bytes = 0;
  double seconds = 0, stall_s = 0, copied_s = 0;
  double rate = 0;  // bytes per second
  std::int32_t rank = 0;
  bool cancelled = false;           // failed only because another rank's part failed
  std::array<char, 600> problem{};  // error text, ends with 0; "": success

  [[nodiscard]] std::string_view why() const { return problem.data(); }
  void fail(std::string_view text);
};

/// Combines the outcomes of all ranks: sums of bytes and rates, maxima of times, and the first
/// problem that was not caused by another rank. Every rank gets the same result. Collective.
/// Errors: Error{comm}.
SaveOutcome gather_outcomes(Group& world, const SaveOutcome& own, std::string_view about);

}  // namespace ds
