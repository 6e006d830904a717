// has_own_head(): whether a Hugging Face folder of T5 holds an output head beside the embedding.
#pragma once

#include <string>

namespace ds {

/// Returns whether the folder's safetensors hold an lm_head.weight that differs from shared.weight,
/// as transformers 5 decides it: its config.json does not say. Returns false for files that cannot
/// be read; reading the weights reports them.
bool has_own_head(const std::string& folder);

}  // namespace ds
