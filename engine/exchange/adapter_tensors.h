// Adapters in PEFT's folders: which of our tensors is which of theirs. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/models/adapters.h"

namespace ds {

/// Returns every matrix of the model by its Hugging Face name, as add_adapters() takes them.
std::vector<LinearModule> linear_modules(const ModelConfig& model, std::int64_t positions);

/// Returns the program of a model with the adapters of [lora]; as it is where rank = 0. Errors: as
/// add_adapters().
Program with_lora(Program program, const ModelConfig& model, const LoraConfig& lora,
                  std::int64_t positions, double dropout);

/// Returns PEFT's name of one of our adapters' tensors:
/// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". PEFT's tensor is the
/// transpose.
std::string peft_name(const ModelConfig& model, std::string_view ours);

/// Formats adapter_config.json. `adapted`: the modules with adapters, of `all`. A module's last
/// word stands for it where all modules with that word have adapters.
std::string peft_config_json(const ModelConfig& model, const LoraConfig& lora,
                             const std::vector<LinearModule>& all,
                             const std::vector<LinearModule>& adapted);

}  // namespace ds
