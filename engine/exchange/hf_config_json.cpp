// hf_config_json(): the keys of transformers' classes, in the spelling of version 4, which version
// 5 reads too.
#include "engine/exchange/hf_config_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

std::string_view torch_name(DType dtype) {
  if (dtype == DType::bf16) return "bfloat16";
  return dtype == DType::f16 ? "float16" : "float32";
}

ordered_json gpt2_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"attn_pdrop", model.dropout},
          {"bos_token_id", nullptr},
          {"embd_pdrop", model.dropout},
          {"eos_token_id", nullptr},
          {"initializer_range", 0.02},
          {"layer_norm_epsilon", model.norm_eps},
          {"n_ctx", positions},
          {"n_embd", model.hidden},
          {"n_head", model.heads},
          {"n_inner", model.ffn},
          {"n_layer", model.layers},
          {"n_positions", positions},
          {"resid_pdrop", model.dropout},
          {"tie_word_embeddings", true},
          {"use_cache", true},
          {"vocab_size", vocab}};
}

ordered_json scaling_json(const ModelConfig& model) {
  if (model.rope_scaling == RopeScaling::none) return nullptr;
  if (model.rope_scaling == RopeScaling::linear)
    return {{"rope_type", "linear"}, {"type", "linear"}, {"factor", model.rope_factor}};
  return {{"rope_type", "llama3"},
          {"factor", model.rope_factor},
          {"low_freq_factor", model.rope_low},
          {"high_freq_factor", model.rope_high},
          {"original_max_position_embeddings", model.rope_trained}};
}

ordered_json llama_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions) {
  const LlamaFamily& family = *llama_family(model.arch);
  if (model.rope_scaling == RopeScaling::llama3) {  // it is for sequences longer than rope_trained
    const double reach = static_cast<double>(model.rope_trained) * model.rope_factor;
    positions = std::max(positions, static_cast<std::int64_t>(reach));
  }
  ordered_json json = {{"architectures", {family.hf_class}},
                       {"model_type", family.arch},
                       {"attention_dropout", model.dropout},
                       {"bos_token_id", nullptr},
                       {"eos_token_id", nullptr},
                       {"head_dim", model.elements_of_head()},
                       {"hidden_act", "silu"},
                       {"hidden_size", model.hidden},
                       {"initializer_range", 0.02},
                       {"intermediate_size", model.ffn},
                       {"max_position_embeddings", positions},
                       {"num_attention_heads", model.heads},
                       {"num_hidden_layers", model.layers},
                       {"num_key_value_heads", model.kv_heads},
                       {"rms_norm_eps", model.norm_eps},
                       {"rope_scaling", scaling_json(model)},
                       {"rope_theta", model.rope_theta},
                       {"tie_word_embeddings", model.tied},
                       {"use_cache", true},
                       {"vocab_size", vocab}};
  if (family.arch == "llama") {
    json["attention_bias"] = json["mlp_bias"] = false;
    json["pretraining_tp"] = 1;
  }
  if (family.windows != Windows::none) {
    json["sliding_window"] = nullptr;
    if (model.window != 0) json["sliding_window"] = model.window;
  }
  if (family.windows == Windows::after_full) {
    json["use_sliding_window"] = model.window != 0;
    if (model.window != 0) json["max_window_layers"] = model.full_layers;
  }
  return json;
}

std::string_view torch_activation(FeedForward activation) {
  if (activation == FeedForward::gelu_tanh) return "gelu_new";
  return activation == FeedForward::relu ? "relu" : "gelu";
}

ordered_json bert_json(const ModelConfig& model, const BertFamily& family, std::int64_t vocab,
                       std::int64_t positions) {
  // The padding token of BERT is the first of its vocabulary.
  const std::int64_t pad = family.first_position == 0 ? 0 : model.first_position - 1;
  return {{"architectures", {family.hf_class}},
          {"model_type", family.arch},
          {"attention_probs_dropout_prob", model.dropout},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"hidden_act", torch_activation(model.activation)},
          {"hidden_dropout_prob", model.dropout},
          {"hidden_size", model.hidden},
          {"initializer_range", 0.02},
          {"intermediate_size", model.ffn},
          {"layer_norm_eps", model.norm_eps},
          {"max_position_embeddings", model.first_position + positions},
          {"num_attention_heads", model.heads},
          {"num_hidden_layers", model.layers},
          {"pad_token_id", pad},
          {"position_embedding_type", "absolute"},
          {"tie_word_embeddings", true},
          {"type_vocab_size", model.type_vocab},
          {"use_cache", true},
          {"vocab_size", vocab}};
}

/// Transformers 4 scales the head's input, and ties the head, where tie_word_embeddings is true.
/// Transformers 5 reads scale_decoder_outputs, and unties the head where the files hold another.
ordered_json t5_json(const ModelConfig& model, std::int64_t vocab) {
  const bool is_gated = model.activation == FeedForward::gated_gelu;
  return {{"architectures", {"T5ForConditionalGeneration"}},
          {"model_type", "t5"},
          {"d_ff", model.ffn},
          {"d_kv", model.elements_of_head()},
          {"d_model", model.hidden},
          {"decoder_start_token_id", 0},
          {"dense_act_fn", is_gated ? "gelu_new" : "relu"},
          {"dropout_rate", model.dropout},
          {"eos_token_id", 1},
          {"feed_forward_proj", is_gated ? "gated-gelu" : "relu"},
          {"initializer_factor", 1.0},
          {"is_encoder_decoder", true},
          {"is_gated_act", is_gated},
          {"layer_norm_epsilon", model.norm_eps},
          {"num_decoder_layers", model.blocks_of_decoder()},
          {"num_heads", model.heads},
          {"num_layers", model.layers},
          {"pad_token_id", 0},
          {"relative_attention_max_distance", model.relative_distance},
          {"relative_attention_num_buckets", model.relative_buckets},
          {"scale_decoder_outputs", model.scaled},
          {"tie_word_embeddings", model.scaled},
          {"use_cache", true},
          {"vocab_size", vocab}};
}

}  // namespace

std::string hf_config_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions,
                           DType dtype) {
  const BertFamily* const bert = bert_family(model.arch);
  ordered_json json = bert != nullptr      ? bert_json(model, *bert, vocab, positions)
                      : model.arch == "t5" ? t5_json(model, vocab)
                      : llama_family(model.arch) != nullptr ? llama_json(model, vocab, positions)
                                                            : gpt2_json(model, vocab, positions);
  json["torch_dtype"] = torch_name(dtype);
  return json.dump(2) + "\n";
}

}  // namespace ds
