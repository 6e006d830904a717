// count_parameters(): the parameters of a model, from small programs of it.
#pragma once

#include <cstdint>

#include "engine/config/train_config.h"

namespace ds {

struct ParameterCount {
  double all = 0;        // a tied embedding counts once; without adapters
  double one_layer = 0;  // how many more a model with one more of model.layers has
};

/// Counts the parameters of the tensors that build_model() declares. `seq_len`: rows of a table of
/// learned positions. Takes as little time for a large model as for a small one, because it builds
/// models of 1 and 2 layers: layers are alike. Pure.
ParameterCount count_parameters(ModelConfig model, std::int64_t seq_len);

}  // namespace ds
