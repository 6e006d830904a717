// hf_tensors(): GPT-2's files hold (inputs, outputs) as this program does; those of the other
// families hold the transpose, unfused. Encoders' are in hf_tensors_encoder.cpp.
#include "engine/exchange/hf_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"
#include "engine/exchange/hf_tensor_list.h"

namespace ds {
namespace {

std::vector<HfTensor> gpt2_tensors(const ModelConfig& model, std::int64_t vocab,
                                   std::int64_t positions) {
  HfTensorList list{std::string(hf_prefix(model))};
  const std::int64_t width = model.hidden;
  list.rows_of("wte.weight", "transformer.wte.weight", model.vocab, vocab, width);
  list.matrix("wpe.weight", positions, width);
  const auto norm = [&](const std::string& name) {
    list.vector(name + ".weight", width);
    list.vector(name + ".bias", width);
  };
  const auto layer = [&](const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    list.matrix(name + ".weight", inputs, outputs);
    list.vector(name + ".bias", outputs);
  };
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string block = fmt::format("h.{}.", i);
    norm(block + "ln_1");
    layer(block + "attn.c_attn", width, 3 * width);
    layer(block + "attn.c_proj", width, width);
    norm(block + "ln_2");
    layer(block + "mlp.c_fc", width, model.ffn);
    layer(block + "mlp.c_proj", model.ffn, width);
  }
  norm("ln_f");
  return list.take();
}

std::vector<HfTensor> llama_tensors(const ModelConfig& model, std::int64_t vocab) {
  HfTensorList list{std::string(hf_prefix(model))};
  const std::int64_t width = model.hidden, head = model.elements_of_head();
  const std::int64_t queries = model.heads * head, keys = model.kv_heads * head;
  const LlamaFamily& traits = *llama_family(model.arch);
  list.rows_of("embed_tokens.weight", "model.embed_tokens.weight", model.vocab, vocab, width);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string block = fmt::format("layers.{}.", i), attention = block + "self_attn.",
                      mlp = block + "mlp.";
    list.vector(block + "input_layernorm.weight", width);
    list.transposed(attention + "qkv_proj.weight", width,
                    {{attention + "q_proj.weight", queries},
                     {attention + "k_proj.weight", keys},
                     {attention + "v_proj.weight", keys}});
    if (traits.qkv_bias)
      list.vectors(attention + "qkv_proj.bias", {{attention + "q_proj.bias", queries},
                                                 {attention + "k_proj.bias", keys},
                                                 {attention + "v_proj.bias", keys}});
    if (traits.head_norms) {
      list.vector(attention + "q_norm.weight", head);
      list.vector(attention + "k_norm.weight", head);
    }
    list.transposed(attention + "o_proj.weight", queries, {{attention + "o_proj.weight", width}});
    list.vector(block + "post_attention_layernorm.weight", width);
    list.transposed(mlp + "gate_up_proj.weight", width,
                    {{mlp + "gate_proj.weight", model.ffn}, {mlp + "up_proj.weight", model.ffn}});
    list.transposed(mlp + "down_proj.weight", model.ffn, {{mlp + "down_proj.weight", width}});
  }
  list.vector("norm.weight", width);
  if (!model.tied) list.rows_of("lm_head.weight", "lm_head.weight", model.vocab, vocab, width);
  return list.take();
}

}  // namespace

std::vector<std::int64_t> HfTensor::our_shape() const {
  if (shape.size() == 1) return {our_columns};
  return {our_rows, our_columns};
}

std::string_view hf_prefix(const ModelConfig& model) {
  if (const BertFamily* const bert = bert_family(model.arch)) return bert->hf_prefix;
  if (model.arch == "t5") return "";
  return llama_family(model.arch) != nullptr ? "model." : "transformer.";
}

std::string hf_embedding(const ModelConfig& model) {
  const char* const name = bert_family(model.arch) != nullptr    ? "embeddings.word_embeddings"
                           : model.arch == "t5"                  ? "shared"
                           : llama_family(model.arch) != nullptr ? "embed_tokens"
                                                                 : "wte";
  return fmt::format("{}{}.weight", hf_prefix(model), name);
}

bool is_position_table(std::string_view ours) {
  return ours == "wpe.weight" || ours == "embeddings.position_embeddings.weight";
}

std::vector<HfTensor> hf_tensors(const ModelConfig& model, std::int64_t vocab,
                                 std::int64_t positions) {
  if (const BertFamily* const bert = bert_family(model.arch))
    return bert_tensors(model, *bert, vocab, positions);
  if (model.arch == "t5") return t5_tensors(model, vocab);
  return llama_family(model.arch) != nullptr ? llama_tensors(model, vocab)
                                             : gpt2_tensors(model, vocab, positions);
}

namespace {

/// Tensors of a folder that this program's models have no use for. `arch` empty: of any.
struct PassedOver {
  std::string_view arch, begin, end;
};
constexpr PassedOver kPassedOver[] = {
    {"gpt2", "", ".attn.bias"},         // masks
    {"gpt2", "", ".attn.masked_bias"},  // masks
    {"", "", ".rotary_emb.inv_freq"},   // frequencies
    {"bert", "bert.pooler.dense.", ""},
    {"bert", "bert.embeddings.position_ids", ""},
    {"bert", "cls.seq_relationship.", ""},
    {"bert", "cls.predictions.decoder.", ""},  // tied
    {"roberta", "roberta.pooler.dense.", ""},
    {"roberta", "roberta.embeddings.position_ids", ""},
    {"roberta", "lm_head.decoder.", ""},        // tied
    {"t5", "encoder.embed_tokens.weight", ""},  // copies of the embedding
    {"t5", "decoder.embed_tokens.weight", ""},
    // Old files hold it, and nothing reads it.
    {"t5", "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", ""},
};

}  // namespace

bool is_no_weight(std::string_view name, const ModelConfig& model) {
  if (model.tied && name == "lm_head.weight") return true;
  const std::string_view prefix = hf_prefix(model);
  return std::ranges::any_of(kPassedOver, [&](const PassedOver& row) {
    std::string_view begin = row.begin;
    if (begin.starts_with(prefix) && !name.starts_with(prefix)) begin.remove_prefix(prefix.size());
    return (row.arch.empty() || row.arch == model.arch) && name.starts_with(begin) &&
           name.ends_with(row.end);
  });
}

}  // namespace ds
