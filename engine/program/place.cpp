// The pass place(): in every tier, persistent values first, then scratch, then transient values,
// which share bytes where their lives do not meet. Values that programs keep for each other begin
// the transient range.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/program/pack.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

constexpr std::array<Tier, 4> kUsedTiers{Tier::device, Tier::pinned_host, Tier::host, Tier::nvme};

std::string_view class_of(const Program& program, ValueId id) {
  const auto is_master = [&](const ParamGroup& group) {
    return std::any_of(group.states.begin(), group.states.end(),
                       [&](const StateTile& tile) { return tile.master == id; });
  };
  const auto is_frozen = [&](const ParamGroup& group) {
    return !group.trains && (group.weights == id || group.slice == id);
  };
  const Value& value = program.value(id);
  switch (value.kind) {
    case ValueKind::parameter:
      if (!value.persistent) return "gathered";
      return std::ranges::any_of(program.groups, is_frozen) ? "frozen weights" : "weights";
    case ValueKind::gradient:
      return "gradients";
    case ValueKind::activation:
      return "activations";
    case ValueKind::input:
      return "inputs";
    case ValueKind::state:
      break;
  }
  if (!value.persistent) return "ring";
  const bool master = std::any_of(program.groups.begin(), program.groups.end(), is_master);
  return master ? "master" : "moments";
}

void count(TierPlan& plan, std::string_view name, std::int64_t bytes) {
  if (bytes == 0) return;
  for (auto& [known, sum] : plan.classes) {
    if (known == name) {
      sum += bytes;
      return;
    }
  }
  plan.classes.emplace_back(name, bytes);
}

class Placement {
 public:
  Placement(const std::vector<const Program*>& programs, std::int64_t workspace_bytes)
      : programs_(programs) {
    for (const Program* program : programs_) plan_.offsets.emplace_back(program->values.size(), 0);
    place_persistent();
    for (const Tier tier : kUsedTiers) {
      TierPlan& tier_plan = plan_.of(tier);
      tier_plan.workspace_offset = tier_plan.persistent_bytes;
      if (tier == Tier::device) tier_plan.workspace_bytes = round_up(workspace_bytes, kPage);
      count(tier_plan, "scratch", tier_plan.workspace_bytes);
      place_transient(tier);
      tier_plan.total_bytes =
          tier_plan.persistent_bytes + tier_plan.workspace_bytes + tier_plan.transient_bytes;
    }
    for (std::size_t p = 0; p < programs_.size(); ++p) resolve_views(p);
  }

  PlacementPlan plan() { return std::move(plan_); }

 private:
  void place_persistent() {
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      const Program& program = *programs_[p];
      for (std::size_t i = 0; i < program.values.size(); ++i) {
        const Value& value = program.values[i];
        if (!value.persistent) continue;
        TierPlan& tier = plan_.of(value.tier);
        const auto [known, is_new] =
            persistent_.try_emplace(value.name, Block{.bytes = bytes_of(value)});
        DS_ASSERT(known->second.bytes == bytes_of(value),
                  "two programs disagree about the size of a value");
        if (is_new) {
          known->second.offset = tier.persistent_bytes;
          const std::int64_t bytes = round_up(bytes_of(value), kPage);
          tier.persistent_bytes += bytes;
          count(tier, class_of(program, static_cast<ValueId>(i)), bytes);
        }
        plan_.offsets[p][i] = known->second.offset;
      }
    }
  }

  /// Gives each name among the kept values one place from `start` on, in all programs. Returns
  /// their bytes.
  std::int64_t place_kept(Tier tier, std::int64_t start) {
    std::map<std::string_view, Block> places;
    std::int64_t all = 0;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (std::size_t i = 0; i < programs_[p]->values.size(); ++i) {
        const Value& value = programs_[p]->values[i];
        if (!value.kept || value.tier != tier) continue;
        const std::int64_t bytes = bytes_of(value);
        const auto [known, is_new] =
            places.try_emplace(value.name, Block{.bytes = bytes, .offset = start + all});
        DS_ASSERT(known->second.bytes == bytes, "two programs disagree about the size of a value");
        if (is_new) all += round_up(bytes, kPage);
        plan_.offsets[p][i] = known->second.offset;
      }
    }
    return all;
  }

  /// Programs run one at a time, so the transient range is as long as the longest one.
  void place_transient(Tier tier) {
    TierPlan& tier_plan = plan_.of(tier);
    const std::int64_t start = tier_plan.persistent_bytes + tier_plan.workspace_bytes;
    const std::int64_t all_kept = place_kept(tier, start);
    const Program* largest = nullptr;
    std::vector<Block> largest_blocks;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      const Program& program = *programs_[p];
      const std::int64_t kept = keeps(program) ? all_kept : 0;
      std::vector<Block> blocks = pack(transient_blocks(program, tier));
      for (std::size_t i = 0; i < program.values.size(); ++i) {
        const bool is_transient = !program.lasts(static_cast<ValueId>(i));
        if (program.values[i].tier == tier && is_transient) plan_.offsets[p][i] = start;
      }
      for (const Block& block : blocks)
        plan_.offsets[p][static_cast<std::size_t>(block.id)] = start + kept + block.offset;
      const std::int64_t end = kept + round_up(end_of(blocks), kPage);
      if (end > tier_plan.transient_bytes || largest == nullptr) {
        tier_plan.transient_bytes = end;
        largest = &program;
        largest_blocks = std::move(blocks);
      }
    }
    if (largest == nullptr) return;
    count_peak(tier_plan, *largest, largest_blocks, keeps(*largest) ? all_kept : 0);
  }

  static bool keeps(const Program& program) {
    return std::ranges::any_of(program.values, [](const Value& value) { return value.kept; });
  }

  static std::vector<Block> transient_blocks(const Program& program, Tier tier) {
    const std::vector<Life> lives = lives_of(program);
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const Value& value = program.values[i];
      const std::int64_t bytes = bytes_of(value);
      if (value.tier != tier || !lives[i].used() || bytes == 0) continue;
      const std::int64_t alignment = alignment_for(bytes, tier);
      blocks.push_back({.id = static_cast<ValueId>(i),
                        .life = lives[i],
                        .bytes = round_up(bytes, alignment),
                        .alignment = alignment});
    }
    return blocks;
  }

  void resolve_views(std::size_t p) {
    const Program& program = *programs_[p];
    std::vector<std::int64_t>& offsets = plan_.offsets[p];
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (program.values[i].base == kNoValue) continue;
      const Home home = home_of(program, static_cast<ValueId>(i));
      offsets[i] = offsets[static_cast<std::size_t>(home.base)] + home.offset;
    }
  }

  // Counts the transient classes when most bytes are alive, and the holes between them, so that the
  // classes add up to the total.
  static void count_peak(TierPlan& plan, const Program& program, const std::vector<Block>& blocks,
                         std::int64_t kept) {
    const int ops = static_cast<int>(program.ops.size());
    std::vector<std::int64_t> change(static_cast<std::size_t>(ops) + 2, 0);
    for (const Block& block : blocks) {
      change[static_cast<std::size_t>(block.life.first)] += block.bytes;
      change[static_cast<std::size_t>(block.life.last) + 1] -= block.bytes;
    }
    std::int64_t now = 0, most = 0;
    int peak = 0;
    for (int op = 0; op <= ops; ++op) {
      now += change[static_cast<std::size_t>(op)];
      if (now <= most) continue;
      most = now;
      peak = op;
    }
    for (const Block& block : blocks) {
      if (block.life.meets({peak, peak})) count(plan, class_of(program, block.id), block.bytes);
    }
    count(plan, "cache", kept);
    count(plan, "holes", plan.transient_bytes - most - kept);
  }

  const std::vector<const Program*>& programs_;
  std::map<std::string, Block> persistent_;
  PlacementPlan plan_;
};

}  // namespace

PlacementPlan place(const std::vector<const Program*>& programs, std::int64_t workspace_bytes) {
  return Placement(programs, workspace_bytes).plan();
}

void add_snapshot(TierPlan& plan, std::int64_t bytes, std::string_view name) {
  DS_ASSERT(plan.snapshot_bytes == 0 && bytes >= 0);
  plan.snapshot_offset = plan.total_bytes;
  plan.snapshot_bytes = round_up(bytes, kPage);
  plan.total_bytes += plan.snapshot_bytes;
  count(plan, name, plan.snapshot_bytes);
}

void add_kept(TierPlan& plan, std::int64_t bytes) {
  plan.kept_bytes += bytes;
  count(plan, "kept states", bytes);
}

}  // namespace ds
