// Sends outcomes as bytes and combines them.
#include "engine/train/save_outcome.h"

#include <algorithm>
#include <vector>

#include "engine/comm/pieces.h"

namespace ds {
namespace {

// Long, because a slow disk that still writes is waited for. Ranks that are lost or stopped are
// detected much earlier.
constexpr auto kTimeout = std::chrono::hours(1);

}  // namespace

void SaveOutcome::fail(std::string_view text) {
  problem.fill('\0');
  if (text.empty()) text = "unknown reason";
  std::copy_n(text.data(), std::min(text.size(), problem.size() - 1), problem.data());
}

SaveOutcome gather_outcomes(Group& world, const SaveOutcome& own, std::string_view about) {
  std::vector<SaveOutcome> all(static_cast<std::size_t>(world.size()));
  all[static_cast<std::size_t>(world.rank())] = own;
  all[static_cast<std::size_t>(world.rank())].rank = world.rank();
  world.about(about);
  world.all_gather(cut_pieces(std::as_writable_bytes(std::span(all)), all.size()),
                   Deadline::after(kTimeout));
  SaveOutcome sum;
  for (const SaveOutcome& each : all) {
    sum.bytes += each.bytes;
    sum.rate += each.rate;
    sum.seconds = std::max(sum.seconds, each.seconds);
    sum.stall_s = std::max(sum.stall_s, each.stall_s);
    sum.copied_s = std::max(sum.copied_s, each.copied_s);
    const bool is_told = !sum.why().empty() && (each.cancelled || !sum.cancelled);
    if (each.why().empty() || is_told) continue;
    sum.problem = each.problem;
    sum.rank = each.rank;
    sum.cancelled = each.cancelled;
  }
  return sum;
}

}  // namespace ds
