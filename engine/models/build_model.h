// build_model(): the forward pass of the model that a configuration names.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Returns the forward pass of one micro-batch of the architecture model.arch.
Program build_model(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
