// What each rank says of itself to those that wait for it, and what follows for a rank that waits.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"

namespace ds {

/// One collective. Calls of one group with equal numbers are the same on every rank.
struct Call {
  std::uint64_t number = 0;  // 0: not a collective
  std::string operation{};   // "all_gather"
  std::string about{};       // what for
  std::uint64_t bytes = 0;   // where all members know all sizes: their hash
};

/// "all_gather gather.block3 (number 17)".
std::string text_of(const Call& call);

struct RankReport {
  struct InGroup {
    std::string group{};        // unique in the job; for people up to the "/"
    bool waiting = false;       // in the last call
    std::string failed{};       // why it gave the group up
    std::vector<Call> calls{};  // the last ones, oldest first
  };
  std::uint64_t beat = 0;      // counts up while the process runs
  std::uint64_t progress = 0;  // counts up with the work done
  std::string doing{};         // the path of an op; empty between programs
  std::vector<InGroup> groups{};
};

std::string encode(const RankReport& report);
/// Nothing: not a report.
std::optional<RankReport> decode_rank_report(std::string_view text);

/// What is known of a rank here.
struct Observed {
  RankReport report{};
  Clock::time_point beat_at{};      // when it was last heard of
  Clock::time_point progress_at{};  // when it last had got on
};

/// A call that this rank waits in.
struct Waiting {
  int rank = 0;  // of this rank
  std::string group{};
  std::vector<int> members{};
  Call call{};
  Clock::time_point since{};
};

/// Why nobody needs to wait any longer; nothing while the others may still come. `ranks` is by rank
/// of the world, with this one; `patience`: how long a rank may be silent, or all may stand still.
std::optional<std::string> judge(const Waiting& waiting, std::span<const Observed> ranks,
                                 Clock::duration patience, Clock::time_point now);

}  // namespace ds
