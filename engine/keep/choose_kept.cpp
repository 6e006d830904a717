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

constexpr std::size_t kListedShares = 8;

/// The copies of one step and epoch, by rank. Of one rank they are sorted by node and file.
using CopiesByRank = std::map<int, std::vector<const KeptCopy*>>;

/// Step and epoch; newest first.
using StepAndEpoch = std::pair<std::int64_t, std::uint64_t>;
using Groups = std::map<StepAndEpoch, CopiesByRank, std::greater<>>;

Groups groups_of(std::span<const KeptCopy> copies, const std::string& run) {
  Groups groups;
  for (const KeptCopy& copy : copies) {
    if (copy.share.run != run) continue;
    groups[{copy.share.head.state.step, copy.share.epoch}][copy.share.part.rank].push_back(&copy);
  }
  for (auto& [key, ranks] : groups) {
    for (auto& [rank, list] : ranks) {
      std::ranges::sort(list, [](const KeptCopy* a, const KeptCopy* b) {
        return std::tie(a->node, a->file) < std::tie(b->node, b->file);
      });
    }
  }
  return groups;
}

/// Returns whether two copies of a rank's share have the same pieces.
bool is_same_share(const KeptShare& a, const KeptShare& b) {
  return a.part.tensors == b.part.tensors && a.part.chunk.bytes == b.part.chunk.bytes;
}

/// Returns whether shares with these heads can be one step. Ranks note the time each for themselves.
bool is_same_step(const Manifest& a, const Manifest& b) {
  return a.state == b.state && a.world_size == b.world_size && a.arithmetic == b.arithmetic &&
         a.origin == b.origin && a.tensors == b.tensors;
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
    const auto least =
        std::ranges::min_element(places, {}, [&](const KeptPlace& place) { return given[place.node]; });
    std::rotate(places.begin(), least, least + 1);
    given[places.front().node] += chunks[chunk].bytes;
  }
}

std::string list_of(const std::vector<int>& ranks) {
  const std::size_t shown = std::min(ranks.size(), kListedShares);
  std::string text = fmt::format("{}", fmt::join(std::span(ranks).first(shown), ", "));
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

/// Returns what keeps the step from being complete, or an empty text and the step.
std::string join_step(const StepAndEpoch& key, const CopiesByRank& ranks, KeptStep& step) {
  const Manifest& head = ranks.begin()->second.front()->share.head;
  const std::string name = fmt::format("step {} of epoch {}", key.first, key.second);
  std::vector<int> missing;
  for (int rank = 0; rank < head.world_size; ++rank)
    if (!ranks.contains(rank)) missing.push_back(rank);
  if (!missing.empty())
    return fmt::format("{} lacks the share{} of rank{} {} of {}", name,
                       missing.size() == 1 ? "" : "s", missing.size() == 1 ? "" : "s",
                       list_of(missing), head.world_size);
  std::vector<ChunkPart> parts;
  for (const auto& [rank, list] : ranks) {
    const KeptShare& share = list.front()->share;
    if (!is_same_step(share.head, head))
      return fmt::format("{}: ranks {} and {} kept different jobs", name, ranks.begin()->first, rank);
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
  for (const auto& [key, ranks] : groups) {
    KeptStep step;
    const std::string lacks = join_step(key, ranks, step);
    if (lacks.empty()) {
      choice.steps.push_back(std::move(step));
    } else if (choice.steps.empty() && choice.incomplete.empty()) {
      choice.incomplete = lacks;
    }
  }
  return choice;
}

bool drop_place(KeptStep& step, std::size_t chunk, const KeptPlace& place) {
  std::erase(step.places.at(chunk), place);
  return !step.places.at(chunk).empty();
}

}  // namespace ds
