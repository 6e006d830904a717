// Keys of the sections [model], [data] and [batch].
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
     "Named set of sizes; keys that are also given override it.", DS_FIELD(model.preset)},
    {"model.layers", K::integer, true, 1, 4096, "", "", "from the preset",
     "Transformer blocks.", DS_FIELD(model.layers)},
    {"model.hidden", K::integer, true, 1, 1 << 20, "", "", "from the preset",
     "Model width; a multiple of heads.", DS_FIELD(model.hidden)},
    {"model.heads", K::integer, true, 1, 4096, "", "", "from the preset",
     "Attention heads.", DS_FIELD(model.heads)},
    {"model.kv_heads", K::integer, true, 1, 4096, "", "", "from the preset, else as heads",
     "llama: heads of keys and values, each shared by heads / kv_heads heads of queries; must divide heads.", DS_FIELD(model.kv_heads)},
    {"model.ffn", K::integer, true, 1, 1 << 22, "", "", "from the preset, else gpt2: hidden * 4, llama: hidden * 8 / 3 up to a multiple of 256",
     "Width of the feed-forward layer.", DS_FIELD(model.ffn)},
    {"model.vocab", K::integer, true, 1, 1 << 24, "", "", "from the preset, else from the tokenizer",
     "Vocabulary size (rows of the embedding), rounded up to a multiple of 64 for the kernels.", DS_FIELD(model.vocab)},
    {"model.init", K::path, true, 0, 0, "random", "", "\"random\"",
     "Initial weights: random, or a Hugging Face folder with config.json and safetensors of this model.", DS_FIELD(model.init)},
    {"model.dropout", K::number, true, 0, 0.999, "", "", "0.0",
     "Fraction of the activations set to 0 in training.", DS_FIELD(model.dropout)},
    {"model.rope_theta", K::number, true, 1, 1e9, "", "", "from the preset, else 10000.0",
     "llama: base of the rotary position angles.", DS_FIELD(model.rope_theta)},
    {"model.norm_eps", K::number, true, 1e-12, 1, "", "", "1e-05",
     "Added to the variance (or the mean square) in norms.", DS_FIELD(model.norm_eps)},
    {"model.tied", K::flag, true, 0, 0, "", "", "from the preset, else gpt2: true, llama: false",
     "Share the weights of the embedding with the output head.", DS_FIELD(model.tied)},

    {"data.train", K::globs, false, 0, 0, "", "", "required",
     "Training files.", DS_FIELD(data.train)},
    {"data.validation", K::validation, false, 0, 0.9, "", "", "0.05",
     "Validation files, or the fraction held out at the end of each training file; 0 = no validation.", set_validation, get_validation},
    {"data.format", K::choice, true, 0, 0, "text", "jsonl|tokens", "\"text\"",
     "Format of the files.", DS_FIELD(data.format)},
    {"data.tokenizer", K::choice, true, 0, 0, "bytes", "*", "\"bytes\"",
     "Tokenizer; bytes: every byte is one of 256 tokens.", DS_FIELD(data.tokenizer)},
    {"data.seq_len", K::integer, true, 1, 1 << 20, "", "", "required",
     "Tokens of one sequence.", DS_FIELD(data.seq_len)},

    {"batch.micro", K::integer, true, 1, 1 << 16, "", "", "from the other two",
     "Sequences per micro-batch of one virtual rank.", DS_FIELD(batch.micro)},
    {"batch.accum", K::integer, true, 1, 1 << 16, "", "", "from the other two, else 1",
     "Micro-batches per optimizer step.", DS_FIELD(batch.accum)},
    {"batch.global", K::integer, true, 1, 1LL << 40, "", "", "from the other two",
     "Sequences per optimizer step: micro * accum * virtual_ranks.", DS_FIELD(batch.global)},
};
// clang-format on

}  // namespace

std::span<const Key> model_keys() { return kModelKeys; }

}  // namespace ds
