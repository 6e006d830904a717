#include "engine/keep/choose_kept.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/base/error.h"
#include "engine/checkpoint/manifest_text.h"

namespace ds {
namespace {

constexpr std::ptrdiff_t kListedShares = 8;

/// The copies of one step and epoch, by rank. Of one rank they are sorted by node and file.
using CopiesByRank = std::map<int, std::vector<const KeptCopy*>>;

/// Returns whether shares with these heads can be one step. Ranks note the time each for
/// themselves.
bool is_same_step(const Manifest& a, const Manifest& b) {
  return a.state == b.state && a.world_size == b.world_size && a.arithmetic == b.arithmetic &&
         a.origin == b.origin && a.tensors == b.tensors;
}

/// Step and epoch; newest first. Copies of one whose heads differ are apart: a broken copy must not
/// spoil the others.
using StepAndEpoch = std::pair<std::int64_t, std::uint64_t>;
using Groups = std::map<StepAndEpoch, std::vector<CopiesByRank>, std::greater<>>;

const Manifest& head_in(const CopiesByRank& ranks) {
  return ranks.begin()->second.front()->share.head;
}

Groups groups_of(std::span<const KeptCopy> copies, const std::string& run) {
  Groups groups;
  for (const KeptCopy& copy : copies) {
    if (copy.share.run != run) continue;
    auto& kinds = groups[{copy.share.head.state.step, copy.share.epoch}];
    const auto same = std::ranges::find_if(kinds, [&](const CopiesByRank& ranks) {
      return is_same_step(head_in(ranks), copy.share.head);
    });
    (same != kinds.end() ? *same : kinds.emplace_back())[copy.share.part.rank].push_back(&copy);
  }
  for (auto& [key, kinds] : groups) {
    for (CopiesByRank& ranks : kinds) {
      for (auto& [rank, list] : ranks) {
        std::ranges::sort(list, [](const KeptCopy* a, const KeptCopy* b) {
          return std::tie(a->node, a->file) < std::tie(b->node, b->file);
        });
      }
    }
  }
  return groups;
}

/// Returns whether two copies of a rank's share have the same pieces.
bool is_same_share(const KeptShare& a, const KeptShare& b) {
  return a.part.tensors == b.part.tensors && a.part.chunk.bytes == b.part.chunk.bytes;
}

/// Puts the place first that has the least bytes to give, beginning with the largest chunks.
void spread_places(KeptStep& step) {
  const std::vector<ChunkFile>& chunks = step.manifest.chunks;
  std::vector<std::size_t> order(chunks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return chunks[i].bytes; });
  std::map<int, std::int64_t> given;  // by node
  for (const std::size_t chunk : order) {
    std::vector<KeptPlace>& places = step.places[chunk];
    const auto least = std::ranges::min_element(
        places, {}, [&](const KeptPlace& place) { return given[place.node]; });
    std::rotate(places.begin(), least, least + 1);
    given[places.front().node] += chunks[chunk].bytes;
  }
}

/// Returns which of the ranks below `world_size` have no share: "the shares of ranks 1, 3"; empty:
/// all have one. The work does not grow with `world_size`, which a broken share may give.
std::string missing_shares(const CopiesByRank& ranks, int world_size) {
  const auto present = std::distance(ranks.begin(), ranks.lower_bound(world_size));
  const std::int64_t missing = world_size - present;
  if (missing <= 0) return {};
  std::vector<int> shown;
  for (int rank = 0; rank < world_size && std::ssize(shown) < kListedShares; ++rank)
    if (!ranks.contains(rank)) shown.push_back(rank);
  std::string text =
      fmt::format("the share{0} of rank{0} {1}", missing == 1 ? "" : "s", fmt::join(shown, ", "));
  if (missing > std::ssize(shown)) text += fmt::format(" and {} more", missing - std::ssize(shown));
  return text;
}

/// Returns what keeps the step from being complete, or an empty text and the step.
std::string join_step(const StepAndEpoch& key, const CopiesByRank& ranks, KeptStep& step) {
  const Manifest& head = head_in(ranks);
  const std::string name = fmt::format("step {} of epoch {}", key.first, key.second);
  if (const std::string missing = missing_shares(ranks, head.world_size); !missing.empty())
    return fmt::format("{} lacks {} of {}", name, missing, head.world_size);
  std::vector<ChunkPart> parts;
  for (const auto& [rank, list] : ranks) {
    const KeptShare& share = list.front()->share;
    parts.push_back(share.part);
    parts.back().chunk.name = fmt::format("rank-{:05}", rank);
    std::vector<KeptPlace>& places = step.places.emplace_back();
    for (const KeptCopy* copy : list)
      if (is_same_share(copy->share, share)) places.push_back({copy->node, copy->file});
  }
  try {
    step.manifest = join_parts(head, parts);
  } catch (const Error& error) {
    return fmt::format("{}: {}", name, error.what());
  }
  step.epoch = key.second;
  spread_places(step);
  return {};
}

}  // namespace

const KeptPlace& KeptStep::place_for(std::size_t chunk, int node) const {
  const std::vector<KeptPlace>& all = places.at(chunk);
  const auto own = std::ranges::find(all, node, &KeptPlace::node);
  return own != all.end() ? *own : all.front();
}

KeptChoice choose_kept(std::span<const KeptCopy> copies, const std::string& run) {
  KeptChoice choice;
  const Groups groups = groups_of(copies, run);
  for (const auto& [key, kinds] : groups) {
    std::string lacks;
    for (const CopiesByRank& ranks : kinds) {
      KeptStep step;
      lacks = join_step(key, ranks, step);
      if (lacks.empty()) choice.steps.push_back(std::move(step));
      if (lacks.empty()) break;
    }
    if (lacks.empty() || !choice.steps.empty() || !choice.incomplete.empty()) continue;
    choice.incomplete = kinds.size() == 1
                            ? lacks
                            : fmt::format("step {} of epoch {}: its shares do not belong together",
                                          key.first, key.second);
  }
  return choice;
}

bool drop_place(KeptStep& step, std::size_t chunk, const KeptPlace& place) {
  std::erase(step.places.at(chunk), place);
  return !step.places.at(chunk).empty();
}

}  // namespace ds
