// build_decode(): the programs that continue texts with a cache of keys and values.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// The forward pass over a piece of the prompts, and over one token of each sequence. They share
/// weights and the cache of keys and values by name. With an encoder, the first one runs the
/// encoder on whole prompts and the decoder on the token that starts every text.
struct DecodePrograms {
  Program prefill, step;
};

/// What decode programs are built for.
struct DecodeShape {
  std::int64_t sequences = 1;  // continued together
  std::int64_t room = 0;       // positions of the cache, S
  std::int64_t positions = 0;  // of the model: rows of a table of learned positions
  std::int64_t piece = 0;      // tokens of a prompt that run together, at most `room`
  std::int64_t valid_vocab = 0;
  DType act = DType::f32;
  std::int64_t encoder_len = 0;  // of a model with an encoder: the longest prompt
};

/// Returns the programs of a model that `build` makes for a shape. Pure.
using BuildModel = std::function<Program(const ModelShape&)>;
DecodePrograms build_decode(const BuildModel& build, const DecodeShape& shape);
/// The same for a model without adapters.
DecodePrograms build_decode(const ModelConfig& config, const DecodeShape& shape);

/// Returns how many tokens of a prompt run together: all of them, up to 256.
std::int64_t piece_of(std::int64_t longest_prompt, std::int64_t room);

}  // namespace ds
