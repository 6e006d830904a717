// How a rank's part of something that all do together went, and all ranks' outcomes as one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/comm/collectives.h"

namespace ds {

/// Ranks send it as bytes.
struct SaveOutcome {
  std::int64_t bytes = 0;
  double seconds = 0, stall_s = 0, copied_s = 0;
  double rate = 0;  // bytes a second
  std::int32_t rank = 0;
  bool cancelled = false;           // because another rank's part failed
  std::array<char, 600> problem{};  // "": it went well; ends with 0

  [[nodiscard]] std::string_view why() const { return problem.data(); }
  void fail(std::string_view text);
};

/// Bytes and rates added, the longest times, the first problem that no other rank caused. The same
/// on every rank. Collective. Errors: Error{comm}.
SaveOutcome gather_outcomes(Group& world, const SaveOutcome& own, std::string_view about);

}  // namespace ds
