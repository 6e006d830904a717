// Prompts of `sample`, and how they run: read from the words, and checked against the model. Pure
// but for the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/tool_options.h"
#include "engine/tensor/tensor.h"
#include "runner/text_codec.h"

namespace ds {

/// A prompt as it was given.
struct Prompt {
  std::string place{};  // "prompt 2", "prompts.txt, line 3"
  std::string text{};
  bool is_text = false;                // else token numbers, from --tokens
  bool from_file = false;              // text if the model has a codec, else numbers
  std::vector<std::int32_t> tokens{};  // where they are known without the model
};

/// Returns the prompts of --tokens, --prompt and --prompts, in this order. Errors: Error{usage}:
/// none is given; Error{config}: the file cannot be read, or has an empty line.
std::vector<Prompt> prompts_of(const ToolWords& words);

/// Returns how many of the prompts run together, and the type of weights and activations.
std::int64_t together_of(const ToolWords& words, std::size_t prompts);
DType sampled_type(const ToolWords& words);

/// Returns the most tokens that a prompt can have.
std::int64_t longest_of(const std::vector<Prompt>& prompts);

/// What prompts are checked against.
struct PromptLimits {
  std::int64_t tokens = 0;     // of the model
  std::int64_t positions = 0;  // of the model
  std::int64_t length = 0;     // tokens to add
  const TextCodec* codec = nullptr;
};

/// Returns whether a prompt is text, or may be.
bool may_have_text(const std::vector<Prompt>& prompts);

/// Returns the token numbers of every prompt. Errors: Error{usage} naming the prompt.
std::vector<std::vector<std::int32_t>> tokens_of(const std::vector<Prompt>& prompts,
                                                 const PromptLimits& limits);

}  // namespace ds
