// Keys of the section [lora].
#include "engine/config/key_access.h"

namespace ds {
namespace {

using K = KeyKind;
// clang-format off
const Key kLoraKeys[] = {
    {"lora.rank", K::integer, true, 0, 1 << 16, "", "", "that of lora.from, else 0",
     "Rank of the adapters (docs/finetuning.md); 0 = none, and the whole model trains.", DS_FIELD(lora.rank)},
    {"lora.alpha", K::number, true, 0, 1e6, "", "", "rank",
     "Adapters' products are multiplied by alpha / rank.", DS_FIELD(lora.alpha)},
    {"lora.rslora", K::flag, true, 0, 0, "", "", "false",
     "Multiply by alpha / sqrt(rank) instead.", DS_FIELD(lora.rslora)},
    {"lora.targets", K::names, true, 0, 0, "all-linear", "", "[\"all-linear\"]",
     "Linear layers that get adapters, as PEFT's target_modules: all-linear (all but the head), ends of Hugging Face's names such as \"q_proj\", and patterns of these names.", DS_FIELD(lora.targets)},
    {"lora.dropout", K::number, true, 0, 0.999, "", "", "0.0",
     "Fraction of the adapters' inputs set to 0 in training.", DS_FIELD(lora.dropout)},
    {"lora.train", K::names, true, 0, 0, "", "", "[]",
     "Patterns of tensor names (docs/models.md) that train beside the adapters; all others are frozen.", DS_FIELD(lora.train)},
    {"lora.from", K::path, true, 0, 0, "", "", "none",
     "PEFT folder to begin with: its adapter_config.json sets rank, alpha, rslora and targets. A key given beside it must agree.", DS_FIELD(lora.from)},
};
// clang-format on

}  // namespace

std::span<const Key> lora_keys() { return kLoraKeys; }

}  // namespace ds
