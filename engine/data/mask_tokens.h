// hide_tokens(): the masked language model's task: some tokens are hidden and are to be predicted.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/row_buffer.h"

namespace ds {

struct MaskRule {
  double share = 0.15;                // of the tokens that are predicted
  std::int32_t mask = 0;              // the token that hides another
  std::int64_t tokens = 0;            // random tokens are below it
  std::vector<std::int32_t> keeps{};  // sorted: special tokens, which are never hidden or drawn
  std::uint64_t seed = 0;
};

/// Chooses each token of a row with probability rule.share as a target, and replaces 80 % of those
/// by the mask, 10 % by a random token, and none of the rest. Draws depend on the seed, the number
/// of the sample and the column. A row of documents that none is chosen of gets one.
/// Source: Devlin et al., "BERT", 2018, section 3.1.
void hide_tokens(const MaskRule& rule, std::int64_t sample, RowBuffer& row);

}  // namespace ds
