// Choice: the keys that make one, compared one by one.
#include "engine/plan/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/config/keys.h"
#include "engine/models/parameter_count.h"

namespace ds {
namespace {

constexpr std::string_view kStage = "zero.stage", kOptimizer = "offload.optimizer.device",
                           kParam = "offload.param.device", kRecompute = "recompute.policy";

std::vector<std::string> changes(const Choice& from, const Choice& to) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view key, const auto& value) {
    words.push_back(fmt::format("{}={}", key, value));
  };
  if (from.stage != to.stage) add(kStage, to.stage);
  if (from.optimizer != to.optimizer) add(kOptimizer, name_of(to.optimizer));
  if (from.param != to.param) add(kParam, name_of(to.param));
  if (from.recompute != to.recompute) add(kRecompute, name_of(to.recompute));
  return words;
}

bool all_built(const Choice& choice) {
  const TrainConfig config = with_choice({}, choice, false);
  return std::ranges::all_of(std::array{kStage, kOptimizer, kParam, kRecompute},
                             [&](std::string_view name) {
                               const Key* key = find_key(name);
                               return is_built(*key, key->get(config));
                             });
}

}  // namespace

Choice choice_of(const TrainConfig& config) {
  return {.stage = config.zero.stage,
          .optimizer = config.offload.optimizer.device,
          .param = config.offload.param.device,
          .recompute = config.recompute.policy};
}

TrainConfig with_choice(TrainConfig config, const Choice& choice, bool order_given) {
  OptimizerOffload& optimizer = config.offload.optimizer;
  if (choice.optimizer == OffloadDevice::none) {
    optimizer.update = UpdateTime::after;
  } else if (optimizer.device == OffloadDevice::none) {
    optimizer.update = UpdateTime::forward;
  }
  config.zero.stage = choice.stage;
  optimizer.device = choice.optimizer;
  config.offload.param.device = choice.param;
  if (choice.stage < 3) config.offload.grad.device = OffloadDevice::none;
  config.recompute.policy = choice.recompute;
  if (!order_given)
    config.determinism.order = choice.stage <= 1 ? ReduceOrder::boundary : ReduceOrder::step;
  return config;
}

std::vector<Choice> all_choices() {
  constexpr std::array kDevices{OffloadDevice::none, OffloadDevice::cpu, OffloadDevice::nvme};
  constexpr std::array kPolicies{RecomputePolicy::none, RecomputePolicy::selective,
                                 RecomputePolicy::block};
  std::vector<Choice> choices;
  for (std::int64_t stage = 0; stage <= 3; ++stage) {
    for (const OffloadDevice optimizer : kDevices) {
      for (const OffloadDevice param : kDevices) {
        if (param != OffloadDevice::none && stage < 3) continue;
        if (param == OffloadDevice::nvme && optimizer == OffloadDevice::none) continue;
        for (const RecomputePolicy policy : kPolicies)
          choices.push_back({stage, optimizer, param, policy});
      }
    }
  }
  std::erase_if(choices, [](const Choice& choice) { return !all_built(choice); });
  return choices;
}

double tiles_per_rank(const TrainConfig& config, int world_size) {
  const ParameterCount count = count_parameters(config.model, config.data.seq_len);
  const double tiles = count.all / static_cast<double>(config.offload.optimizer.tile);
  return config.zero.stage == 0 ? tiles : tiles / world_size;
}

std::vector<Choice> choices_for(const TrainConfig& config, int world_size) {
  std::vector<Choice> choices = all_choices();
  std::erase_if(choices, [&](const Choice& choice) {
    const double tiles = tiles_per_rank(with_choice(config, choice, true), world_size);
    const bool moves =
        choice.optimizer != OffloadDevice::none || choice.param != OffloadDevice::none;
    if (moves && config.precision.master == MasterWeights::split16) return true;
    return choice.optimizer != OffloadDevice::none && tiles > kMostTiles;
  });
  return choices;
}

std::string difference(const Choice& from, const Choice& to) {
  std::string text;
  for (const std::string& word : changes(from, to)) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "unchanged" : text;
}

int distance(const Choice& from, const Choice& to) {
  return static_cast<int>(changes(from, to).size());
}

std::string_view name_of(OffloadDevice device) {
  constexpr std::array<std::string_view, 3> kNames{"none", "cpu", "nvme"};
  return kNames[static_cast<std::size_t>(device)];
}
std::string_view name_of(RecomputePolicy policy) {
  constexpr std::array<std::string_view, 4> kNames{"none", "selective", "block", "auto"};
  return kNames[static_cast<std::size_t>(policy)];
}
std::string_view name_of(ReduceOrder order) {
  constexpr std::array<std::string_view, 3> kNames{"auto", "boundary", "step"};
  return kNames[static_cast<std::size_t>(order)];
}

}  // namespace ds
