// What may be chosen about memory: ZeRO stage, where states and weights lie, recomputation.
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

/// That of `config`.
Choice choice_of(const TrainConfig& config);
/// `config` with another choice. The order of reduction decides bits: it becomes the stage's
/// default when `order_given` is false, as it would if the stage were written in train.toml.
TrainConfig with_choice(TrainConfig config, const Choice& choice, bool order_given);

/// Every choice that is built, from least to most sharding, offload and recomputation.
std::vector<Choice> all_choices();
/// Those of them for a job of `world_size` ranks whose states are not cut into more than 20,000
/// tiles a rank (84 G parameters by default): no machine has room for so many, and their programs
/// are huge. A master in two halves stays with its weights.
std::vector<Choice> choices_for(const TrainConfig& config, int world_size);

/// "zero.stage=3 recompute.policy=block", only what differs from `from`; "as it is" when nothing
/// does.
std::string difference(const Choice& from, const Choice& to);
/// In how many keys they differ.
int distance(const Choice& from, const Choice& to);

std::string_view name_of(OffloadDevice device);
std::string_view name_of(RecomputePolicy policy);
std::string_view name_of(ReduceOrder order);

}  // namespace ds
