// What may be chosen without changing a bit of the result: ZeRO stage, offload, recomputation.
#pragma once

#include <string>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

struct Choice {
  std::int64_t stage = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// That of `config`.
Choice choice_of(const TrainConfig& config);
/// `config` with another choice; the order of reduction stays, as it decides bits.
TrainConfig with_choice(TrainConfig config, const Choice& choice);

/// Every choice that is built, from least to most sharding, offload and recomputation.
std::vector<Choice> all_choices();

/// "zero.stage=3", only what differs from `from`; "as it is" when nothing does.
std::string difference(const Choice& from, const Choice& to);
/// In how many keys they differ.
int distance(const Choice& from, const Choice& to);

}  // namespace ds
