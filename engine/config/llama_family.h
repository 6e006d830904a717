// The architectures that are Llama's but for a few traits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace ds {

/// Layers whose attention may have a window (model.window).
enum class Windows : std::uint8_t {
  none,
  everywhere,  // all layers
  after_full,  // all but the first model.full_layers
};

struct LlamaFamily {
  std::string_view arch;      // model.arch, and model_type in Hugging Face's config.json
  std::string_view hf_class;  // transformers' class
  bool qkv_bias = false;      // biases of queries, keys and values
  bool head_norms = false;    // RMS norms of each head of queries and of keys
  Windows windows = Windows::none;
};

inline constexpr LlamaFamily kLlamaFamily[] = {
    {"llama", "LlamaForCausalLM"},
    {"mistral", "MistralForCausalLM", false, false, Windows::everywhere},
    {"qwen2", "Qwen2ForCausalLM", true, false, Windows::after_full},
    {"qwen3", "Qwen3ForCausalLM", false, true, Windows::after_full},
};

/// Returns null for other architectures.
inline const LlamaFamily* llama_family(std::string_view arch) {
  const auto* found = std::ranges::find(kLlamaFamily, arch, &LlamaFamily::arch);
  return found == std::end(kLlamaFamily) ? nullptr : found;
}

}  // namespace ds
