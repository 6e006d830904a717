// run_fill(): `sample` with a model of masked tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/tool_options.h"
#include "engine/kernels/kernels.h"
#include "engine/sample/choose_token.h"
#include "engine/sample/open_model.h"
#include "runner/sample_prompts.h"

namespace ds {

/// Fills the masks of the prompts and prints the result, as text if there is a codec. Errors:
/// Error{usage}: an option that has no effect here, a prompt without a mask; as LoadedModel and
/// fill_masks().
void run_fill(const ToolWords& words, const SampledModel& model, const TextCodec* codec,
              const std::vector<Prompt>& prompts, const TokenChoice& choice, Backend& backend);

}  // namespace ds
