// generate(): continues prompts token by token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/choose_token.h"
#include "engine/sample/decoder.h"

namespace ds {

struct GenerateRequest {
  std::vector<std::vector<std::int32_t>> prompts{};  // none is empty
  std::int64_t length = 0;                           // most tokens to add to each
  TokenChoice choice{};
  std::uint64_t seed = 1;
  std::vector<std::int32_t> ends{};  // tokens that end a continuation, which contains them
  std::int64_t valid_vocab = 0;      // tokens that may be chosen: those below it
  // Where a text no longer fits: go on from its last half, as if it began there. Only for one
  // sequence at a time. Without it, prompts and continuations must fit.
  bool slides = false;
};

struct Continuation {
  std::vector<std::int32_t> tokens{};
  bool ended = false;  // by a token of `ends`
};

/// How long it took, for messages.
struct GenerateTimes {
  double prompts = 0, tokens = 0;  // seconds
  std::int64_t steps = 0;          // tokens of the longest continuations, after the first of each
};

/// Returns a continuation of each prompt. Runs as many at a time as the decoder has sequences; the
/// random numbers of a prompt depend on the seed, its number and the token's number alone.
/// Allocates nothing per token. Errors: Error{config} naming prompt and token where logits are not
/// numbers; as Decoder.
std::vector<Continuation> generate(Decoder& decoder, const GenerateRequest& request,
                                   GenerateTimes* times = nullptr);

}  // namespace ds
