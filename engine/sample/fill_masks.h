// fill_masks(): the tokens that a model of masked tokens puts in the place of masks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/models/model_shape.h"
#include "engine/sample/bound_program.h"
#include "engine/sample/choose_token.h"

namespace ds {

struct FillRequest {
  std::vector<std::vector<std::int32_t>> prompts{};  // each has at least one mask
  std::int32_t mask = 0;
  TokenChoice choice{};
  std::uint64_t seed = 1;
  std::int64_t valid_vocab = 0;  // tokens that can be chosen
  std::int64_t candidates = 0;   // how many of the likeliest tokens to list for each mask
  std::int64_t together = 1;     // prompts of one run
};

struct MaskCandidate {
  std::int32_t token = 0;
  double probability = 0;
};

struct FilledMask {
  std::size_t at = 0;      // place in the prompt
  std::int32_t token = 0;  // chosen
  std::vector<MaskCandidate> likeliest{};
};

/// Returns the shape of the program that the prompts need: each prompt is a document, and the
/// logits are those of the masks.
ModelShape shape_to_fill(const FillRequest& request, DType act);

/// Returns the masks of every prompt, all predicted from one forward pass, which sees the other
/// masks as masks. The random numbers of a mask depend on the seed, the number of the prompt and
/// the number of the mask. `model`: a program of shape_to_fill(). Errors: Error{config} naming
/// prompt and mask where logits are not numbers; as Executor::run().
std::vector<std::vector<FilledMask>> fill_masks(BoundProgram model, const FillRequest& request);

}  // namespace ds
