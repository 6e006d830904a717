// The GPT-2 family (vocabulary 50257, padded to 50304) and small byte-level models.
#include "engine/config/presets.h"

#include "engine/base/error.h"

namespace ds {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t layers, hidden, heads, vocab;  // vocab 0: the tokenizer's.
};

constexpr Preset kPresets[] = {
    {"gpt2-124m", 12, 768, 12, 50304},  {"gpt2-355m", 24, 1024, 16, 50304},
    {"gpt2-774m", 36, 1280, 20, 50304}, {"gpt2-1558m", 48, 1600, 25, 50304},
    {"gpt-10m", 6, 384, 6, 0},          {"gpt-tiny", 2, 64, 2, 0},
};

void fill(std::int64_t& field, std::int64_t value) {
  if (field == 0) field = value;
}

}  // namespace

void apply_preset(ModelConfig& model) {
  if (model.preset.empty()) return;
  for (const Preset& preset : kPresets) {
    if (preset.name != model.preset) continue;
    fill(model.layers, preset.layers);
    fill(model.hidden, preset.hidden);
    fill(model.heads, preset.heads);
    fill(model.vocab, preset.vocab);
    return;
  }
  DS_ASSERT(false, "the key table and the presets name the same models");
}

}  // namespace ds
