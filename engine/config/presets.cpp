// Model sizes: GPT-2 (vocabulary 50257), Llama, Mistral, Qwen 2.5 and 3, BERT, RoBERTa, small
// byte-level models; T5's are in t5_sizes.h. tests/golden/parameter_counts.txt has the number of
// parameters of each.
#include "engine/config/presets.h"

#include "engine/base/error.h"
#include "engine/config/bert_family.h"
#include "engine/config/t5_sizes.h"

namespace ds {
namespace {

struct Preset {
  std::string_view name, arch;
  std::int64_t layers, hidden, heads, vocab;  // vocab 0: the tokenizer's
  std::int64_t kv_heads = 0, ffn = 0;         // 0: the architecture's default
  double rope_theta = 0;                      // 0: the default
  bool tied = true;
  double norm_eps = 1e-5;
  double llama3_factor = 0;  // of Llama 3.1's scaling; 0: none
  std::int64_t head_size = 0, window = 0;
};

constexpr Preset kPresets[] = {
    {"gpt2-124m", "gpt2", 12, 768, 12, 50257},
    {"gpt2-355m", "gpt2", 24, 1024, 16, 50257},
    {"gpt2-774m", "gpt2", 36, 1280, 20, 50257},
    {"gpt2-1558m", "gpt2", 48, 1600, 25, 50257},
    {"gpt-10m", "gpt2", 6, 384, 6, 0},
    {"gpt-tiny", "gpt2", 2, 64, 2, 0},
    {"llama-7b", "llama", 32, 4096, 32, 32000, 32, 11008, 1e4, false, 1e-6},
    {"llama-13b", "llama", 40, 5120, 40, 32000, 40, 13824, 1e4, false, 1e-6},
    {"llama-30b", "llama", 60, 6656, 52, 32000, 52, 17920, 1e4, false, 1e-6},
    {"llama-65b", "llama", 80, 8192, 64, 32000, 64, 22016, 1e4, false},
    {"llama2-7b", "llama", 32, 4096, 32, 32000, 32, 11008, 1e4, false},
    {"llama2-13b", "llama", 40, 5120, 40, 32000, 40, 13824, 1e4, false},
    {"llama2-70b", "llama", 80, 8192, 64, 32000, 8, 28672, 1e4, false},
    {"llama3-8b", "llama", 32, 4096, 32, 128256, 8, 14336, 5e5, false},
    {"llama3-70b", "llama", 80, 8192, 64, 128256, 8, 28672, 5e5, false},
    {"llama3.1-8b", "llama", 32, 4096, 32, 128256, 8, 14336, 5e5, false, 1e-5, 8},
    {"llama3.1-70b", "llama", 80, 8192, 64, 128256, 8, 28672, 5e5, false, 1e-5, 8},
    {"llama3.1-405b", "llama", 126, 16384, 128, 128256, 8, 53248, 5e5, false, 1e-5, 8},
    {"llama3.2-1b", "llama", 16, 2048, 32, 128256, 8, 8192, 5e5, true, 1e-5, 32},
    {"llama3.2-3b", "llama", 28, 3072, 24, 128256, 8, 8192, 5e5, true, 1e-5, 32},
    {"llama3.3-70b", "llama", 80, 8192, 64, 128256, 8, 28672, 5e5, false, 1e-5, 8},
    {"llama-10m", "llama", 6, 384, 6, 0, 2, 1152, 1e4, false},
    {"llama-tiny", "llama", 2, 64, 4, 0, 2, 192, 1e4, false},
    {"mistral-7b-v0.1", "mistral", 32, 4096, 32, 32000, 8, 14336, 1e4, false, 1e-5, 0, 0, 4096},
    {"mistral-7b", "mistral", 32, 4096, 32, 32768, 8, 14336, 1e6, false},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 14, 151936, 2, 4864, 1e6, true, 1e-6},
    {"qwen2.5-1.5b", "qwen2", 28, 1536, 12, 151936, 2, 8960, 1e6, true, 1e-6},
    {"qwen2.5-3b", "qwen2", 36, 2048, 16, 151936, 2, 11008, 1e6, true, 1e-6},
    {"qwen2.5-7b", "qwen2", 28, 3584, 28, 152064, 4, 18944, 1e6, false, 1e-6},
    {"qwen2.5-14b", "qwen2", 48, 5120, 40, 152064, 8, 13824, 1e6, false},
    {"qwen2.5-32b", "qwen2", 64, 5120, 40, 152064, 8, 27648, 1e6, false},
    {"qwen2.5-72b", "qwen2", 80, 8192, 64, 152064, 8, 29568, 1e6, false},
    {"qwen3-0.6b", "qwen3", 28, 1024, 16, 151936, 8, 3072, 1e6, true, 1e-6, 0, 128},
    {"qwen3-1.7b", "qwen3", 28, 2048, 16, 151936, 8, 6144, 1e6, true, 1e-6, 0, 128},
    {"qwen3-4b", "qwen3", 36, 2560, 32, 151936, 8, 9728, 1e6, true, 1e-6, 0, 128},
    {"qwen3-8b", "qwen3", 36, 4096, 32, 151936, 8, 12288, 1e6, false, 1e-6, 0, 128},
    {"qwen3-14b", "qwen3", 40, 5120, 40, 151936, 8, 17408, 1e6, false, 1e-6, 0, 128},
    {"qwen3-32b", "qwen3", 64, 5120, 64, 151936, 8, 25600, 1e6, false, 1e-6, 0, 128},
    {"bert-base-uncased", "bert", 12, 768, 12, 30522, 0, 3072, 0, true, 1e-12},
    {"bert-base-cased", "bert", 12, 768, 12, 28996, 0, 3072, 0, true, 1e-12},
    {"bert-large-uncased", "bert", 24, 1024, 16, 30522, 0, 4096, 0, true, 1e-12},
    {"bert-large-cased", "bert", 24, 1024, 16, 28996, 0, 4096, 0, true, 1e-12},
    {"roberta-base", "roberta", 12, 768, 12, 50265, 0, 3072, 0, true},
    {"roberta-large", "roberta", 24, 1024, 16, 50265, 0, 4096, 0, true},
    // The model of DeepSpeed's example HelloDeepSpeed.
    {"hello-deepspeed", "roberta", 6, 256, 8, 50265, 0, 512, 0, true},
};

void fill(std::int64_t& field, std::int64_t value) {
  if (field == 0) field = value;
}

const Preset& preset_of(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset;
  }
  DS_ASSERT(false, "the key table and the presets name the same models");
  return kPresets[0];
}

void require_arch(const ModelConfig& model, std::string_view arch, const GivenKeys& given) {
  if (!given.places.contains("model.arch") || model.arch == arch) return;
  throw given.error(
      {"model.arch"},
      fmt::format("model.preset = \"{}\" is a {}, not a {}", model.preset, arch, model.arch),
      "leave model.arch out");
}

void apply_t5_size(ModelConfig& model, const T5Size& size, const GivenKeys& given) {
  const auto is_given = [&](std::string_view key) { return given.places.contains(key); };
  require_arch(model, "t5", given);
  model.arch = "t5";
  fill(model.layers, size.layers);
  fill(model.hidden, size.hidden);
  // The preset's head_size fits only the preset's heads.
  if (model.heads == 0 || model.heads == size.heads) fill(model.head_size, size.head_size);
  fill(model.heads, size.heads);
  if (model.hidden == size.hidden) fill(model.ffn, size.ffn);
  fill(model.vocab, kT5Vocab);
  if (!is_given("model.norm_eps")) model.norm_eps = kT5NormEps;
  if (!is_given("model.activation"))
    model.activation = size.is_first ? FeedForward::relu : FeedForward::gated_gelu;
  if (!is_given("model.tied")) model.tied = size.is_first;
  if (!is_given("model.scaled")) model.scaled = size.is_first;
}

}  // namespace

void apply_preset(ModelConfig& model, const GivenKeys& given) {
  const auto is_given = [&](std::string_view key) { return given.places.contains(key); };
  if (model.preset.empty()) {
    if (!is_given("model.tied"))
      model.tied = model.arch == "gpt2" || model.arch == "t5" || bert_family(model.arch) != nullptr;
    return;
  }
  if (const T5Size* const t5 = t5_size(model.preset)) return apply_t5_size(model, *t5, given);
  const Preset& preset = preset_of(model.preset);
  require_arch(model, preset.arch, given);
  model.arch = preset.arch;
  fill(model.layers, preset.layers);
  fill(model.hidden, preset.hidden);
  // The preset's kv_heads fit only the preset's heads; with other heads, kv_heads equals heads.
  if (model.heads == 0 || model.heads == preset.heads) fill(model.kv_heads, preset.kv_heads);
  fill(model.heads, preset.heads);
  fill(model.head_size, preset.head_size);
  if (model.hidden == preset.hidden) fill(model.ffn, preset.ffn);
  fill(model.vocab, preset.vocab);
  if (!is_given("model.rope_theta") && preset.rope_theta != 0) model.rope_theta = preset.rope_theta;
  if (!is_given("model.window")) model.window = preset.window;
  if (!is_given("model.norm_eps")) model.norm_eps = preset.norm_eps;
  if (!is_given("model.rope_scaling") && preset.llama3_factor != 0) {
    model.rope_scaling = RopeScaling::llama3;
    if (!is_given("model.rope_factor")) model.rope_factor = preset.llama3_factor;
  }
  if (!is_given("model.tied")) model.tied = preset.tied;
}

}  // namespace ds
