// The architectures that are Llama's but for a few traits.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ds {

struct LlamaFamily {
  std::string_view arch;      // model.arch, and model_type in Hugging Face's config.json
  std::string_view hf_class;  // transformers' class
  bool qkv_bias = false;      // biases of queries, keys and values
};

inline constexpr LlamaFamily kLlamaFamily[] = {
    {"llama", "LlamaForCausalLM"},
    {"mistral", "MistralForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM", true},
};

/// Returns null for other architectures.
inline const LlamaFamily* llama_family(std::string_view arch) {
  const auto* found = std::ranges::find(kLlamaFamily, arch, &LlamaFamily::arch);
  return found == std::end(kLlamaFamily) ? nullptr : found;
}

}  // namespace ds
