// Keys of [model], [data] and [batch].
#include "engine/config/key_access.h"

namespace ds {
namespace {

void set_validation(TrainConfig& config, const ConfigValue& value) {
  const auto* fraction = std::get_if<double>(&value.held);
  config.data.validation.clear();
  if (fraction == nullptr) key_access::take(config.data.validation, value);
  if (fraction != nullptr) config.data.validation_fraction = *fraction;
}
ConfigValue get_validation(const TrainConfig& config) {
  return config.data.validation.empty() ? ConfigValue{config.data.validation_fraction}
                                        : key_access::give(config.data.validation);
}

using K = KeyKind;
// clang-format off
const Key kModelKeys[] = {
    {"model.arch", K::choice, true, 0, 0, "gpt2|llama", "bert|t5", "the preset's, else \"gpt2\"",
     "Architecture.", DS_FIELD(model.arch)},
    {"model.preset", K::choice, false, 0, 0, "gpt2-124m|gpt2-355m|gpt2-774m|gpt2-1558m|gpt-10m|gpt-tiny|llama3-8b|llama3.2-1b|llama-10m|llama-tiny", "", "none",
     "Sizes by name; keys given beside it win.", DS_FIELD(model.preset)},
    {"model.layers", K::integer, true, 1, 4096, "", "", "from the preset",
     "Transformer blocks.", DS_FIELD(model.layers)},
    {"model.hidden", K::integer, true, 1, 1 << 20, "", "", "from the preset",
     "Width; a multiple of heads.", DS_FIELD(model.hidden)},
    {"model.heads", K::integer, true, 1, 4096, "", "", "from the preset",
     "Attention heads.", DS_FIELD(model.heads)},
    {"model.kv_heads", K::integer, true, 1, 4096, "", "", "from the preset, else as heads",
     "Heads of keys and of values, each for some heads of queries; divides heads. Of llama.", DS_FIELD(model.kv_heads)},
    {"model.ffn", K::integer, true, 1, 1 << 22, "", "", "from the preset, else gpt2: hidden * 4, llama: hidden * 8 / 3 up to a multiple of 256",
     "Width of the feed-forward layer.", DS_FIELD(model.ffn)},
    {"model.vocab", K::integer, true, 1, 1 << 24, "", "", "from the preset, else from the tokenizer",
     "Rows of the embedding; rounded up to a multiple of 64 for the kernels.", DS_FIELD(model.vocab)},
    {"model.init", K::path, true, 0, 0, "random", "", "\"random\"",
     "Where the weights come from: random, or a folder of Hugging Face's with config.json and safetensors of this model.", DS_FIELD(model.init)},
    {"model.dropout", K::number, true, 0, 0.999, "", "", "0.0",
     "Part of the activations set to 0 in training.", DS_FIELD(model.dropout)},
    {"model.rope_theta", K::number, true, 1, 1e9, "", "", "from the preset, else 10000.0",
     "Base of the angles of rotary positions. Of llama.", DS_FIELD(model.rope_theta)},
    {"model.norm_eps", K::number, true, 1e-12, 1, "", "", "1e-05",
     "Added to the variance, or the mean square, of norms.", DS_FIELD(model.norm_eps)},
    {"model.tied", K::flag, true, 0, 0, "", "", "from the preset, else gpt2: true, llama: false",
     "The head has the embedding's weights.", DS_FIELD(model.tied)},

    {"data.train", K::globs, false, 0, 0, "", "", "required",
     "Files to train on, as patterns.", DS_FIELD(data.train)},
    {"data.validation", K::validation, false, 0, 0.9, "", "", "0.05",
     "Patterns of held-out files, or the fraction at the end of each training file that is held out; 0 = no validation.", set_validation, get_validation},
    {"data.format", K::choice, true, 0, 0, "text", "jsonl|tokens", "\"text\"",
     "What the files hold.", DS_FIELD(data.format)},
    {"data.tokenizer", K::choice, true, 0, 0, "bytes", "*", "\"bytes\"",
     "How text becomes tokens; bytes: every byte is one of 256 tokens.", DS_FIELD(data.tokenizer)},
    {"data.seq_len", K::integer, true, 1, 1 << 20, "", "", "required",
     "Tokens of one sequence.", DS_FIELD(data.seq_len)},

    {"batch.micro", K::integer, true, 1, 1 << 16, "", "", "from the other two",
     "Sequences of one micro-batch of one virtual rank.", DS_FIELD(batch.micro)},
    {"batch.accum", K::integer, true, 1, 1 << 16, "", "", "from the other two, else 1",
     "Micro-batches per optimizer step.", DS_FIELD(batch.accum)},
    {"batch.global", K::integer, true, 1, 1LL << 40, "", "", "from the other two",
     "Sequences per optimizer step: micro * accum * virtual_ranks.", DS_FIELD(batch.global)},
};
// clang-format on

}  // namespace

std::span<const Key> model_keys() { return kModelKeys; }

}  // namespace ds
