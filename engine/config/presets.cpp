// Model sizes: GPT-2 (vocabulary 50257, padded to 50304), Llama 3, small byte-level models.
#include "engine/config/presets.h"

#include "engine/base/error.h"

namespace ds {
namespace {

struct Preset {
  std::string_view name, arch;
  std::int64_t layers, hidden, heads, vocab;  // vocab 0: the tokenizer's
  std::int64_t kv_heads = 0, ffn = 0;         // 0: the architecture's default
  double rope_theta = 0;
  bool tied = true;
};

constexpr Preset kPresets[] = {
    {"gpt2-124m", "gpt2", 12, 768, 12, 50304},
    {"gpt2-355m", "gpt2", 24, 1024, 16, 50304},
    {"gpt2-774m", "gpt2", 36, 1280, 20, 50304},
    {"gpt2-1558m", "gpt2", 48, 1600, 25, 50304},
    {"gpt-10m", "gpt2", 6, 384, 6, 0},
    {"gpt-tiny", "gpt2", 2, 64, 2, 0},
    {"llama3-8b", "llama", 32, 4096, 32, 128256, 8, 14336, 5e5, false},
    {"llama3.2-1b", "llama", 16, 2048, 32, 128256, 8, 8192, 5e5, true},
    {"llama-10m", "llama", 6, 384, 6, 0, 2, 1152, 1e4, false},
    {"llama-tiny", "llama", 2, 64, 4, 0, 2, 192, 1e4, false},
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

}  // namespace

void apply_preset(ModelConfig& model, const GivenKeys& given) {
  const auto is_given = [&](std::string_view key) { return given.places.contains(key); };
  if (model.preset.empty()) {
    if (!is_given("model.tied")) model.tied = model.arch == "gpt2";
    return;
  }
  const Preset& preset = preset_of(model.preset);
  if (is_given("model.arch") && model.arch != preset.arch) {
    throw given.error({"model.arch"},
                      fmt::format("model.preset = \"{}\" is a {}, not a {}", preset.name,
                                  preset.arch, model.arch),
                      "leave model.arch out");
  }
  model.arch = preset.arch;
  fill(model.layers, preset.layers);
  fill(model.hidden, preset.hidden);
  // The preset's kv_heads fit only the preset's heads; with other heads, kv_heads equals heads.
  if (model.heads == 0 || model.heads == preset.heads) fill(model.kv_heads, preset.kv_heads);
  fill(model.heads, preset.heads);
  if (model.hidden == preset.hidden) fill(model.ffn, preset.ffn);
  fill(model.vocab, preset.vocab);
  if (!is_given("model.rope_theta") && preset.rope_theta != 0) model.rope_theta = preset.rope_theta;
  if (!is_given("model.tied")) model.tied = preset.tied;
}

}  // namespace ds
