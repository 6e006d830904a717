// trained_model(): a model's forward ops with its adapters, and what of it trains.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Builds the model, adds the adapters of [lora] with dropout `dropout`, and freezes what does not
/// train. Pure. Errors: Error{config}: patterns, targets or a rank that do not fit the model.
Program trained_model(const TrainConfig& config, const ModelShape& shape, double dropout);

}  // namespace ds
