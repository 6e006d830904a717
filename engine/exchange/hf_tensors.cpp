// hf_tensors(): GPT-2's files hold (inputs, outputs) as this program does; those of the other
// families hold the transpose, unfused.
#include "engine/exchange/hf_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"

namespace ds {
namespace {

class List {
 public:
  explicit List(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Adds a vector that is the first `elements` of our `our_elements`.
  void first_of(const std::string& name, const std::string& theirs, std::int64_t our_elements,
                std::int64_t elements) {
    add({.name = theirs,
         .ours = name,
         .shape = {elements},
         .our_columns = our_elements,
         .columns = elements});
  }
  void vector(const std::string& name, std::int64_t elements) {
    first_of(name, prefix_ + name, elements, elements);
  }

  /// Adds a tensor whose rows are the first `rows` of our `our_rows`.
  void rows_of(const std::string& name, const std::string& theirs, std::int64_t our_rows,
               std::int64_t rows, std::int64_t columns) {
    add({.name = theirs,
         .ours = name,
         .shape = {rows, columns},
         .our_rows = our_rows,
         .our_columns = columns,
         .rows = rows,
         .columns = columns});
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    rows_of(name, prefix_ + name, rows, rows, columns);
  }

  /// Columns of our tensor that are an (outputs, inputs) tensor of the folder.
  struct Part {
    std::string name;
    std::int64_t columns;
  };
  void transposed(const std::string& name, std::int64_t inputs, const std::vector<Part>& parts) {
    std::int64_t all = 0, first = 0;
    for (const Part& part : parts) all += part.columns;
    for (const Part& part : parts) {
      add({.name = prefix_ + part.name,
           .ours = name,
           .shape = {part.columns, inputs},
           .our_rows = inputs,
           .our_columns = all,
           .rows = inputs,
           .first_column = first,
           .columns = part.columns,
           .transposed = true});
      first += part.columns;
    }
  }

  void vectors(const std::string& name, const std::vector<Part>& parts) {
    std::int64_t all = 0, first = 0;
    for (const Part& part : parts) all += part.columns;
    for (const Part& part : parts) {
      add({.name = prefix_ + part.name,
           .ours = name,
           .shape = {part.columns},
           .our_columns = all,
           .first_column = first,
           .columns = part.columns,
           .transposed = true});  // a row of ours, a column of theirs
      first += part.columns;
    }
  }

  [[nodiscard]] std::vector<HfTensor> take() { return std::move(tensors_); }

 private:
  void add(HfTensor tensor) { tensors_.push_back(std::move(tensor)); }

  std::string prefix_;
  std::vector<HfTensor> tensors_;
};

std::vector<HfTensor> gpt2_tensors(const ModelConfig& model, std::int64_t vocab,
                                   std::int64_t positions) {
  List list{std::string(hf_prefix(model))};
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
  List list{std::string(hf_prefix(model))};
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

/// The head's tensors have no prefix, so they are in a second list.
std::vector<HfTensor> bert_tensors(const ModelConfig& model, const BertFamily& family,
                                   std::int64_t vocab, std::int64_t positions) {
  List list{std::string(family.hf_prefix)}, head("");
  const std::int64_t width = model.hidden;
  const auto norm = [width](List& to, const std::string& name) {
    to.vector(name + ".weight", width);
    to.vector(name + ".bias", width);
  };
  const auto layer = [](List& to, const std::string& name, std::int64_t inputs,
                        std::int64_t outputs) {
    to.transposed(name + ".weight", inputs, {{name + ".weight", outputs}});
    to.vector(name + ".bias", outputs);
  };
  const std::string embeddings = "embeddings.", words = embeddings + "word_embeddings.weight";
  list.rows_of(words, std::string(family.hf_prefix) + words, model.vocab, vocab, width);
  list.matrix(embeddings + "position_embeddings.weight", model.first_position + positions, width);
  list.matrix(embeddings + "token_type_embeddings.weight", model.type_vocab, width);
  norm(list, embeddings + "LayerNorm");
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string block = fmt::format("encoder.layer.{}.", i), attention = block + "attention.",
                      self = attention + "self.";
    const auto parts = [&](const char* kind) -> std::vector<List::Part> {
      return {{fmt::format("{}query.{}", self, kind), width},
              {fmt::format("{}key.{}", self, kind), width},
              {fmt::format("{}value.{}", self, kind), width}};
    };
    list.transposed(self + "qkv.weight", width, parts("weight"));
    list.vectors(self + "qkv.bias", parts("bias"));
    layer(list, attention + "output.dense", width, width);
    norm(list, attention + "output.LayerNorm");
    layer(list, block + "intermediate.dense", width, model.ffn);
    layer(list, block + "output.dense", model.ffn, width);
    norm(list, block + "output.LayerNorm");
  }
  layer(head, std::string(family.head_dense), width, width);
  norm(head, std::string(family.head_norm));
  const std::string bias(family.head_bias);
  head.first_of(bias, bias, model.vocab, vocab);
  std::vector<HfTensor> all = list.take();
  for (HfTensor& tensor : head.take()) all.push_back(std::move(tensor));
  return all;
}

/// Adds a block's branches. `layer`: of the block, "encoder.block.0.layer.".
void add_t5_block(List& list, const ModelConfig& model, const std::string& layer, bool decodes) {
  const std::int64_t width = model.hidden, inner = model.heads * model.elements_of_head();
  const auto attention = [&](const std::string& name, bool is_cross) {
    const auto part = [&](const char* letter) {
      return List::Part{fmt::format("{}{}.weight", name, letter), inner};
    };
    if (is_cross) {
      list.transposed(name + "q.weight", width, {part("q")});
      list.transposed(name + "kv.weight", width, {part("k"), part("v")});
    } else {
      list.transposed(name + "qkv.weight", width, {part("q"), part("k"), part("v")});
    }
    list.transposed(name + "o.weight", inner, {{name + "o.weight", width}});
  };
  attention(layer + "0.SelfAttention.", false);
  list.vector(layer + "0.layer_norm.weight", width);
  if (decodes) {
    attention(layer + "1.EncDecAttention.", true);
    list.vector(layer + "1.layer_norm.weight", width);
  }
  const std::string last = layer + (decodes ? "2." : "1."), dense = last + "DenseReluDense.",
                    wi = dense + "wi";
  if (model.activation == FeedForward::gated_gelu) {
    list.transposed(wi + ".weight", width,
                    {{wi + "_0.weight", model.ffn}, {wi + "_1.weight", model.ffn}});
  } else {
    list.transposed(wi + ".weight", width, {{wi + ".weight", model.ffn}});
  }
  list.transposed(dense + "wo.weight", model.ffn, {{dense + "wo.weight", width}});
  list.vector(last + "layer_norm.weight", width);
}

std::vector<HfTensor> t5_tensors(const ModelConfig& model, std::int64_t vocab) {
  List list("");
  const std::int64_t width = model.hidden;
  list.rows_of("shared.weight", "shared.weight", model.vocab, vocab, width);
  for (const bool decodes : {false, true}) {
    const std::string stack = decodes ? "decoder." : "encoder.";
    list.matrix(stack + "block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                model.relative_buckets, model.heads);
    const std::int64_t layers = decodes ? model.blocks_of_decoder() : model.layers;
    for (std::int64_t i = 0; i < layers; ++i)
      add_t5_block(list, model, fmt::format("{}block.{}.layer.", stack, i), decodes);
    list.vector(stack + "final_layer_norm.weight", width);
  }
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
