// Choice: the memory settings that the plan compares: ZeRO stage, tiers of states and weights,
// recomputation.
#pragma once

#include <string>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

struct Choice {
  std::int64_t stage = 0;
  OffloadDevice optimizer = OffloadDevice::none;
  OffloadDevice param = OffloadDevice::none;
  RecomputePolicy recompute = RecomputePolicy::none;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// Returns the choice that `config` makes.
Choice choice_of(const TrainConfig& config);
/// Returns `config` with another choice. When `order_given` is false, the order of reduction, which
/// decides bits, becomes the stage's default, as if the stage were written in train.toml.
TrainConfig with_choice(TrainConfig config, const Choice& choice, bool order_given);

/// Returns every implemented choice, from least to most sharding, offload and recomputation.
std::vector<Choice> all_choices();
/// Most tiles of offloaded states per rank (84 G parameters by default): no machine has more
/// memory, and the programs would be huge.
inline constexpr int kMostTiles = 20'000;
double tiles_per_rank(const TrainConfig& config, int world_size);
/// Returns the choices for a job of `world_size` ranks. Leaves out offloaded states of more than
/// kMostTiles. Leaves out all offload where masters are in two halves, because the lower
/// halves stay with the weights.
std::vector<Choice> choices_for(const TrainConfig& config, int world_size);

/// Formats what differs from `from`, as "zero.stage=3 recompute.policy=block"; "unchanged" when
/// nothing does.
std::string difference(const Choice& from, const Choice& to);
/// Returns in how many keys the two differ.
int distance(const Choice& from, const Choice& to);

std::string_view name_of(OffloadDevice device);
std::string_view name_of(RecomputePolicy policy);
std::string_view name_of(ReduceOrder order);

}  // namespace ds
