// Reads the keys of transformers' BertConfig and RobertaConfig that decide what a model computes.
#include "engine/config/bert_family.h"
#include "engine/config/hf_config_reader.h"

namespace ds {
namespace {

/// The activations by transformers' names, as words of model.activation.
struct Word {
  std::string_view theirs, ours;
};
constexpr Word kActivations[] = {{"gelu", "gelu"},
                                 {"gelu_new", "gelu_tanh"},
                                 {"gelu_pytorch_tanh", "gelu_tanh"},
                                 {"relu", "relu"}};

void read_activation(HfConfigReader& r) {
  const HfJson* const found = r.find("hidden_act");
  const std::string theirs = found == nullptr     ? "gelu"
                             : found->is_string() ? found->get<std::string>()
                                                  : "";
  for (const Word& word : kActivations) {
    if (theirs != word.theirs) continue;
    return r.add("hidden_act", "model.activation", {std::string(word.ours)}, "gelu");
  }
  r.refuse("hidden_act", shown(*found), "only gelu, gelu_new and relu are supported");
}

}  // namespace

void read_bert_config(HfConfigReader& r, std::int64_t positions) {
  const BertFamily& family = *bert_family(r.out().arch);
  constexpr std::int64_t kPositions = 512, kTypes = 2;  // of both configurations
  r.integer("num_hidden_layers", "model.layers", 12);
  r.integer("hidden_size", "model.hidden", 768);
  r.integer("num_attention_heads", "model.heads", 12);
  r.integer("intermediate_size", "model.ffn", 3072);
  r.number("layer_norm_eps", "model.norm_eps", 1e-12);
  r.integer("type_vocab_size", "model.type_vocab", kTypes);
  std::int64_t first = 0;
  if (family.first_position != 0) {
    first = r.integer("pad_token_id", "", 1) + 1;
    r.add("pad_token_id", "model.first_position", {first}, 1);
  }
  const std::int64_t rows = r.integer("max_position_embeddings", "", kPositions);
  if (rows < first + positions) {
    r.refuse("max_position_embeddings", std::to_string(rows),
             fmt::format("data.seq_len = {} needs {}", positions, first + positions));
  }
  r.out().vocab = r.integer("vocab_size", "", family.vocab);
  read_activation(r);
  r.one_of("position_embedding_type", {"absolute"});
  r.require("tie_word_embeddings", true, "the head is the embedding");
  r.require("is_decoder", false, "only encoders are supported");
  r.require("add_cross_attention", false, "only encoders are supported");
}

}  // namespace ds
