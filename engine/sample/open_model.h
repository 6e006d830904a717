// open_model(): what sampling needs to know of a checkpoint or a Hugging Face folder, and its
// weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/bert_family.h"
#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"
#include "engine/states/state_source.h"

namespace ds {

struct SampledModel {
  std::string path{};  // the checkpoint, or the folder
  ModelConfig model{};
  LoraConfig lora{};                   // rank = 0: no adapters
  std::int64_t positions = 0;          // the longest text
  std::int64_t table_positions = 0;    // rows of a table of learned positions
  std::int64_t tokens = 0;             // numbers that are tokens are below it
  bool is_bytes = false;               // a token is a byte
  std::string tokenizer{};             // folder or file of it; empty: there is none here
  std::vector<std::int32_t> ends{};    // tokens that end a text, from the files
  std::int32_t start = 0;              // the token that starts a text of a model with an encoder
  std::optional<std::int32_t> mask{};  // the token to fill in; unknown without a tokenizer's folder
  std::unique_ptr<StateSource> weights{};
  bool is_checkpoint = false;

  [[nodiscard]] bool has_encoder() const { return model.arch == "t5"; }
  [[nodiscard]] bool fills_masks() const { return bert_family(model.arch) != nullptr; }
};

/// Opens a Hugging Face folder, a checkpoint, or a folder of checkpoints, whose newest complete one
/// is used. `length`: the longest text, prompt and continuation. Errors: Error{config}: neither; a
/// model that is not built; what does not fit its config.json; an adapter without its model.
SampledModel open_model(const std::string& path, std::int64_t length);

/// Returns the forward pass of a model with its adapters.
Program build_sampled(const SampledModel& model, const ModelShape& shape);

/// Checks that a checkpoint has the tensors of the program. Errors: as require_tensors().
void require_weights(const SampledModel& model, const Program& program);

}  // namespace ds
