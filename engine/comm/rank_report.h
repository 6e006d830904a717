// RankReport: what each rank reports while others may wait for it; and Findings, which rank 0
// derives from all reports. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"

namespace ds {

/// One collective. Calls of one group with equal numbers are the same one on every rank.
struct Call {
  std::uint64_t number = 0;  // counted from 1
  std::string operation{};   // "all_gather"
  std::string about{};       // its purpose
  std::uint64_t bytes = 0;   // a hash of the sizes, where all members know all of them
  friend bool operator==(const Call&, const Call&) = default;
};

/// Formats as "all_gather gather.block3 (number 17)".
std::string text_of(const Call& call);

struct RankReport {
  struct InGroup {
    std::string group{};        // unique in the job; messages show it up to the "/"
    bool waiting = false;       // in the last call
    Clock::duration waited{};   // in it
    std::string failed{};       // why this rank gave the group up
    std::vector<Call> calls{};  // the last ones, oldest first
  };
  std::uint64_t progress = 0;  // counts up with the work done
  std::string doing{};         // the path of an op; empty between programs
  std::vector<InGroup> groups{};
};

std::string encode(const RankReport& report);
/// Decodes what encode() writes; returns nothing for other bytes.
std::optional<RankReport> decode_rank_report(std::string_view text);

/// Returns where a rank is, for messages: "in block5.mlp, waiting in all_gather ...".
std::string place_of(const RankReport& report);

/// What rank 0 knows about a rank.
struct Observed {
  RankReport report{};
  Clock::time_point beat_at{};      // when it last reported
  Clock::time_point progress_at{};  // when it last had made progress
};

/// Why all ranks that wait in a call wait in vain.
struct Verdict {
  std::string group{};
  Call call{};
  std::string reason{};
};

/// What rank 0 tells the ranks that wait.
struct Findings {
  std::string suspicion{};  // names a rank that has been silent for long; or empty
  std::string place{};      // of rank 0
  std::vector<Verdict> verdicts{};
};
std::string encode(const Findings& findings);
std::optional<Findings> decode_findings(std::string_view text);

/// Derives the findings from the reports of all ranks, `ranks`, in order. Ranks that wait in one
/// call are judged once, so the work grows with the number of ranks. `members_of` returns the ranks
/// of a group. `patience`: how long one rank may be silent, or all may make no progress.
Findings find_hangs(std::span<const Observed> ranks,
                    const std::function<std::vector<int>(const std::string&)>& members_of,
                    Clock::duration patience, Clock::time_point now);

}  // namespace ds
