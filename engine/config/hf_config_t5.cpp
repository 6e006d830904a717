// Reads the keys of transformers' T5Config that decide what a model computes.
#include "engine/config/hf_config_reader.h"
#include "engine/config/t5_sizes.h"

namespace ds {
namespace {

/// Reads feed_forward_proj, and requires that keys derived from it agree.
void read_projection(HfConfigReader& r) {
  constexpr const char* kName = "feed_forward_proj";
  const HfJson* const found = r.find(kName);
  const HfJson given = found == nullptr ? HfJson("relu") : *found;
  const bool is_gated = given == "gated-gelu";
  if (!is_gated && given != "relu")
    return r.refuse(kName, shown(given), "only relu and gated-gelu are supported");
  r.add(kName, "model.activation", {std::string(is_gated ? "gated_gelu" : "relu")}, "relu");
  r.one_of("dense_act_fn", {is_gated ? "gelu_new" : "relu"});
  r.require("is_gated_act", is_gated, fmt::format("feed_forward_proj is {}", shown(given)));
}

}  // namespace

void read_t5_config(HfConfigReader& r) {
  const std::int64_t layers = r.integer("num_layers", "model.layers", 6);
  r.integer("num_decoder_layers", "model.decoder_layers", layers);
  r.integer("d_model", "model.hidden", 512);
  r.integer("num_heads", "model.heads", 8);
  r.integer("d_kv", "model.head_size", 64);
  r.integer("d_ff", "model.ffn", 2048);
  r.number("layer_norm_epsilon", "model.norm_eps", kT5NormEps);
  r.integer("relative_attention_num_buckets", "model.relative_buckets", 32);
  r.integer("relative_attention_max_distance", "model.relative_distance", 128);
  r.out().vocab = r.integer("vocab_size", "", kT5Vocab);
  read_projection(r);
  // Transformers 5 writes tie_word_embeddings = true for all, and what it meant by it elsewhere.
  const bool has_own = r.find("scale_decoder_outputs") != nullptr;
  r.flag(has_own ? "scale_decoder_outputs" : "tie_word_embeddings", "model.scaled", true);
  r.require("is_encoder_decoder", true, "only models with both stacks are supported");
}

}  // namespace ds
