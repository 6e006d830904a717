// model_facts(): reads the keys of [model] and two of [data] through the table of keys.
#include "engine/exchange/model_facts.h"

#include "engine/base/error.h"
#include "engine/config/keys.h"
#include "engine/config/toml_reader.h"
#include "engine/data/byte_tokens.h"

namespace ds {

std::int64_t ModelFacts::tokens() const {
  if (model.tokens > 0) return model.tokens;
  return tokenizer == "bytes" ? kByteTokens : 0;  // saved before model.tokens was a key
}

ModelFacts model_facts(const Manifest& manifest) {
  TrainConfig config;
  config.model.arch.clear();
  for (const Entry& entry : read_toml(manifest.config, "the checkpoint's config", "")) {
    const bool counts = entry.key.starts_with("model.") || entry.key.starts_with("lora.") ||
                        entry.key == "data.seq_len" || entry.key == "data.tokenizer";
    const Key* const key = counts ? find_key(entry.key) : nullptr;
    if (key != nullptr) key->set(config, check_value(*key, entry));
  }
  const ModelConfig& model = config.model;
  if (model.arch.empty())
    throw Error(ErrorKind::config, "the checkpoint's config names no model.arch",
                "see its config with dslaunch inspect");
  const bool has_sizes = model.layers > 0 && model.hidden > 0 && model.heads > 0 &&
                         model.kv_heads > 0 && model.ffn > 0 && model.vocab > 0 &&
                         config.data.seq_len > 0;
  if (!has_sizes)
    throw Error(ErrorKind::config, "the checkpoint's config lacks sizes of its model",
                "see its config with dslaunch inspect");
  return {.model = model,
          .lora = config.lora,
          .seq_len = config.data.seq_len,
          .tokenizer = config.data.tokenizer};
}

}  // namespace ds
