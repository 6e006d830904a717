// Chooses the sources that the config names.
#include "engine/states/first_weights.h"

namespace ds {

FirstWeights::FirstWeights(const TrainConfig& config, const Program& step, Kernels& kernels,
                           Stream& stream, Activity* activity)
    : fresh_(static_cast<std::uint64_t>(config.train.seed), kernels, stream) {
  if (is_imported(config.model)) imported_.emplace(config, activity);
  if (!config.lora.from.empty())
    adapters_.emplace(config.lora.from, config.model, adapter_shapes(step));
  draws_ = !imported_ || (!adapters_ && !adapter_shapes(step).empty());
  StateSource& base = imported_ ? static_cast<StateSource&>(*imported_) : fresh_;
  source_.emplace(base, fresh_, adapters_ ? &*adapters_ : nullptr);
}

}  // namespace ds
