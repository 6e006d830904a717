// Keys of the sections [model], [data] and [batch].
#include "engine/config/key_access.h"

namespace ds {
namespace {

void set_validation(TrainConfig& config, const ConfigValue& value) {
  DataConfig& data = config.data;
  data.validation.clear();
  data.validation_sets.clear();
  if (const auto* fraction = std::get_if<double>(&value.held)) {
    data.validation_fraction = *fraction;
  } else if (const auto* sets = std::get_if<ConfigValue::Table>(&value.held)) {
    for (const auto& [name, files] : *sets)
      key_access::take(data.validation_sets.emplace_back(NamedFiles{name, {}}).files, files);
  } else {
    key_access::take(data.validation, value);
  }
}
ConfigValue get_validation(const TrainConfig& config) {
  if (!config.data.validation_sets.empty()) {
    ConfigValue::Table sets;
    for (const auto& [name, files] : config.data.validation_sets)
      sets.push_back({name, key_access::give(files)});
    return {std::move(sets)};
  }
  return config.data.validation.empty() ? ConfigValue{config.data.validation_fraction}
                                        : key_access::give(config.data.validation);
}

using K = KeyKind;
constexpr const char* kScalings = "none|linear|llama3";
constexpr const char* kTasks = "text|response|chat|masked|pairs|spans";
constexpr const char* kRows = "cut|whole";
constexpr const char* kLongs = "split|cut|drop";
constexpr const char* kActivations = "gelu|gelu_tanh|relu|gated_gelu";
// clang-format off
const Key kModelKeys[] = {
    {"model.arch", K::choice, true, 0, 0, "gpt2|llama|mistral|qwen2|qwen3|bert|roberta|t5", "", "the preset's, else \"gpt2\"",
     "Architecture.", DS_FIELD(model.arch)},
    {"model.preset", K::choice, false, 0, 0, "gpt2-124m|gpt2-355m|gpt2-774m|gpt2-1558m|gpt-10m|gpt-tiny|llama-7b|llama-13b|llama-30b|llama-65b|llama2-7b|llama2-13b|llama2-70b|llama3-8b|llama3-70b|llama3.1-8b|llama3.1-70b|llama3.1-405b|llama3.2-1b|llama3.2-3b|llama3.3-70b|llama-10m|llama-tiny|mistral-7b|qwen2.5-0.5b|qwen2.5-1.5b|qwen2.5-3b|qwen2.5-7b|qwen2.5-14b|qwen2.5-32b|qwen2.5-72b|mistral-7b-v0.1|qwen3-0.6b|qwen3-1.7b|qwen3-4b|qwen3-8b|qwen3-14b|qwen3-32b|bert-base-uncased|bert-base-cased|bert-large-uncased|bert-large-cased|roberta-base|roberta-large|hello-deepspeed|t5-small|t5-base|t5-large|t5-3b|t5-11b|t5-v1.1-small|t5-v1.1-base|t5-v1.1-large|t5-v1.1-xl|t5-v1.1-xxl|flan-t5-small|flan-t5-base|flan-t5-large|flan-t5-xl|flan-t5-xxl", "", "none",
     "Named set of sizes; keys that are also given override it.", DS_FIELD(model.preset)},
    {"model.from", K::path, false, 0, 0, "", "", "none",
     "Hugging Face folder to begin with: its config.json sets the keys of [model] but dropout, and model.init is this folder. A key given beside it must agree.", DS_FIELD(model.from)},
    {"model.layers", K::integer, true, 1, 4096, "", "", "from the preset",
     "Transformer blocks; of T5's encoder.", DS_FIELD(model.layers)},
    {"model.hidden", K::integer, true, 1, 1 << 20, "", "", "from the preset",
     "Model width; a multiple of heads unless head_size is given.", DS_FIELD(model.hidden)},
    {"model.heads", K::integer, true, 1, 4096, "", "", "from the preset",
     "Attention heads.", DS_FIELD(model.heads)},
    {"model.kv_heads", K::integer, true, 1, 4096, "", "", "from the preset, else as heads",
     "Llama's family: heads of keys and values, each shared by heads / kv_heads heads of queries; must divide heads.", DS_FIELD(model.kv_heads)},
    {"model.head_size", K::integer, true, 0, 4096, "", "", "hidden / heads",
     "Llama's family, t5: elements of one head.", DS_FIELD(model.head_size)},
    {"model.ffn", K::integer, true, 1, 1 << 22, "", "", "from the preset, else gpt2, bert, roberta, t5: hidden * 4, Llama's family: hidden * 8 / 3 up to a multiple of 256",
     "Width of the feed-forward layer.", DS_FIELD(model.ffn)},
    {"model.vocab", K::integer, true, 1, 1 << 24, "", "", "from the preset, else from the tokenizer",
     "Vocabulary size (rows of the embedding), rounded up to a multiple of 64 for the kernels.", DS_FIELD(model.vocab)},
    {"model.tokens", K::integer, true, 0, 1 << 24, "", "", "the tokenizer's, else vocab before it is rounded up",
     "Rows of the embedding that are tokens. The rest is padding, which has probability 0.", DS_FIELD(model.tokens)},
    {"model.init", K::path, true, 0, 0, "random", "", "\"random\"",
     "Initial weights: random, or a Hugging Face folder with config.json and safetensors of this model.", DS_FIELD(model.init)},
    {"model.dropout", K::number, true, 0, 0.999, "", "", "0.0",
     "Fraction of the activations set to 0 in training.", DS_FIELD(model.dropout)},
    {"model.rope_theta", K::number, true, 1, 1e12, "", "", "from the preset, else 10000.0",
     "Llama's family: base of the rotary position angles.", DS_FIELD(model.rope_theta)},
    {"model.rope_scaling", K::choice, true, 0, 0, kScalings, "*", "from the preset, else \"none\"",
     "Llama's family: lower frequencies, for sequences longer than those of the first training. linear: all are divided by rope_factor; llama3: those of long waves, as Llama 3.1 does.", DS_WORD(model.rope_scaling, kScalings)},
    {"model.rope_factor", K::number, true, 1, 1e6, "", "", "from the preset, else 1.0",
     "What divides the frequencies; needs rope_scaling.", DS_FIELD(model.rope_factor)},
    {"model.rope_low", K::number, true, 1e-3, 1e6, "", "", "1.0",
     "llama3: frequencies with fewer waves than this in rope_trained positions are divided.", DS_FIELD(model.rope_low)},
    {"model.rope_high", K::number, true, 1e-3, 1e6, "", "", "4.0",
     "llama3: frequencies with more waves than this are kept; between, they change gradually.", DS_FIELD(model.rope_high)},
    {"model.rope_trained", K::integer, true, 1, 1 << 30, "", "", "8192",
     "llama3: positions of the first training.", DS_FIELD(model.rope_trained)},
    {"model.window", K::integer, true, 0, 1 << 30, "", "", "from the preset, else 0",
     "mistral, qwen2, qwen3: a token sees itself and the model.window - 1 tokens before it; 0 = all before it.", DS_FIELD(model.window)},
    {"model.full_layers", K::integer, true, 0, 4096, "", "", "0",
     "qwen2, qwen3: first layers whose attention has no window.", DS_FIELD(model.full_layers)},
    {"model.activation", K::choice, true, 0, 0, kActivations, "*", "from the preset, else bert, roberta: \"gelu\", t5: \"relu\"",
     "Activation of the feed-forward layers. bert, roberta: gelu (with erf), gelu_tanh (transformers' gelu_new), relu; t5: relu, gated_gelu.", DS_WORD(model.activation, kActivations)},
    {"model.type_vocab", K::integer, true, 0, 1 << 16, "", "", "from the preset, else bert: 2, roberta: 1",
     "bert, roberta: number of token types.", DS_FIELD(model.type_vocab)},
    {"model.first_position", K::integer, true, 0, 1 << 20, "", "", "bert: 0, roberta: 2",
     "bert, roberta: position of a document's first token; RoBERTa's is the number of its padding token + 1.", DS_FIELD(model.first_position)},
    {"model.decoder_layers", K::integer, true, 0, 4096, "", "", "from the preset, else as layers",
     "t5: blocks of the decoder.", DS_FIELD(model.decoder_layers)},
    {"model.relative_buckets", K::integer, true, 4, 4096, "", "", "32",
     "t5: buckets of distances between tokens; each has a bias of attention's scores.", DS_FIELD(model.relative_buckets)},
    {"model.relative_distance", K::integer, true, 2, 1 << 20, "", "", "128",
     "t5: distance from which on all tokens are in one bucket; more than relative_buckets / 2.", DS_FIELD(model.relative_distance)},
    {"model.scaled", K::flag, true, 0, 0, "", "", "from the preset, else as tied",
     "t5: divide the input of the output head by the root of hidden, as T5 1.0 does.", DS_FIELD(model.scaled)},
    {"model.norm_eps", K::number, true, 1e-12, 1, "", "", "from the preset, else bert: 1e-12, t5: 1e-06, others: 1e-05",
     "Added to the variance (or the mean square) in norms.", DS_FIELD(model.norm_eps)},
    {"model.tied", K::flag, true, 0, 0, "", "", "from the preset, else gpt2, bert, roberta, t5: true, others: false",
     "Share the weights of the embedding with the output head.", DS_FIELD(model.tied)},

    {"data.train", K::globs, false, 0, 0, "", "", "required",
     "Training files.", DS_FIELD(data.train)},
    {"data.weights", K::numbers, true, 1e-6, 1e12, "", "", "none",
     "How often each pattern of data.train is drawn from, one number each; without it, each sample once an epoch.", DS_FIELD(data.weights)},
    {"data.validation", K::validation, false, 0, 0.9, "", "", "0.05",
     "Validation files; or a table of named sets of them, {web = [...], code = [...]}; or the fraction held out at the end of each training file; 0 = no validation.", set_validation, get_validation},
    {"data.format", K::choice, true, 0, 0, "text|jsonl|parquet|tokens|samples", "", "\"text\"",
     "Format of the files. tokens: Megatron's .bin with .idx, or llm.c's .bin; samples: safetensors files of token numbers, one row per sample (docs/data.md).", DS_FIELD(data.format)},
    {"data.tokenizer", K::path, false, 0, 0, "bytes|none", "", "text, jsonl, parquet: that of model.from, else \"bytes\"; tokens, samples: \"none\"",
     "Tokenizer: a Hugging Face folder or a file of one; bytes: every byte is one of 256 tokens; none: the data are token numbers.", DS_FIELD(data.tokenizer)},
    {"data.task", K::choice, true, 0, 0, kTasks, "", "bert, roberta: \"masked\", t5: \"pairs\", others: \"text\"",
     "What is learned of a document: all of it; its second text; the answers of a conversation; hidden tokens; its second text from its first; spans that the encoder does not see (docs/data.md).", DS_WORD(data.task, kTasks)},
    {"data.fields", K::names, true, 0, 0, "", "", "by data.task: [\"text\"], [\"prompt\", \"response\"], [\"messages\"], [\"source\", \"target\"]",
     "jsonl, parquet: the fields of a line, or the columns, that are read.", DS_FIELD(data.json_fields)},
    {"data.rows", K::choice, true, 0, 0, kRows, "", "text: \"cut\", others: \"whole\"",
     "How rows are made: all documents in a row, cut where a row ends; or whole documents side by side.", DS_WORD(data.rows, kRows)},
    {"data.long", K::choice, true, 0, 0, kLongs, "", "text, masked, spans: \"split\", others: \"cut\"",
     "rows = \"whole\": what happens to documents that are longer than a row.", DS_WORD(data.longs, kLongs)},
    {"data.join", K::flag, true, 0, 0, "", "", "false",
     "rows = \"cut\": documents of a row see each other.", DS_FIELD(data.join)},
    {"data.mask", K::number, true, 0.001, 1, "", "", "0.15",
     "task = \"masked\" or \"spans\": share of the tokens that are predicted.", DS_FIELD(data.mask)},
    {"data.span", K::number, true, 1, 1000, "", "", "3.0",
     "task = \"spans\": mean number of tokens of a span.", DS_FIELD(data.span)},
    {"data.end", K::text, true, 0, 0, "", "", "\"auto\"",
     "Token behind each document; auto: eos_token of the tokenizer's files; none: no token.", DS_FIELD(data.end)},
    {"data.chat_template", K::text, true, 0, 0, "", "", "\"auto\"",
     "Template of conversations, by its name (docs/chat.md); auto: that of the tokenizer's files; own: the next four.", DS_FIELD(data.chat_template)},
    {"data.chat_begin", K::text, true, 0, 0, "", "", "\"\"",
     "What an own template writes first, such as \"{bos}\".", DS_FIELD(data.chat_begin)},
    {"data.chat_system", K::text, true, 0, 0, "", "", "\"\"",
     "A system message, such as \"<|system|>{content}<|end|>\".", DS_FIELD(data.chat_system)},
    {"data.chat_user", K::text, true, 0, 0, "", "", "\"\"",
     "A user's message.", DS_FIELD(data.chat_user)},
    {"data.chat_assistant", K::text, true, 0, 0, "", "", "\"\"",
     "An answer; it and what follows it is learned.", DS_FIELD(data.chat_assistant)},
    {"data.cache", K::path, false, 0, 0, "auto", "", "\"auto\"",
     "Folder that keeps the tokens of texts; auto: dslaunch/tokens in $XDG_CACHE_HOME or ~/.cache.", DS_FIELD(data.cache)},
    {"data.seq_len", K::integer, true, 1, 1 << 20, "", "", "required",
     "Tokens of one sequence; of samples: their length.", DS_FIELD(data.seq_len)},
    {"data.encoder_len", K::integer, true, 0, 1 << 20, "", "", "t5: required",
     "t5: tokens of one sequence of the encoder.", DS_FIELD(data.encoder_len)},

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
