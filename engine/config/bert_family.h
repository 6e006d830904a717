// The encoders with a head for masked tokens: BERT and RoBERTa, and how they differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace ds {

struct BertFamily {
  std::string_view arch;       // model.arch, and model_type in Hugging Face's config.json
  std::string_view hf_class;   // transformers' class
  std::string_view hf_prefix;  // of the encoder's tensors in its folders
  // The tensors of the head, with these names in programs too.
  std::string_view head_dense, head_norm, head_bias, head_decoder;
  bool head_has_gelu;           // the head's activation is GELU with erf, not model.activation
  std::int64_t first_position;  // of a document's first token; RoBERTa's padding has the one before
  std::int64_t type_vocab;
  double norm_eps;
  std::int64_t vocab;  // of transformers' configuration
};

inline constexpr BertFamily kBertFamily[] = {
    {"bert", "BertForMaskedLM", "bert.", "cls.predictions.transform.dense",
     "cls.predictions.transform.LayerNorm", "cls.predictions.bias", "cls.predictions.decoder",
     false, 0, 2, 1e-12, 30522},
    {"roberta", "RobertaForMaskedLM", "roberta.", "lm_head.dense", "lm_head.layer_norm",
     "lm_head.bias", "lm_head.decoder", true, 2, 1, 1e-5, 50265},
};

/// Returns null for other architectures.
inline const BertFamily* bert_family(std::string_view arch) {
  const auto* found = std::ranges::find(kBertFamily, arch, &BertFamily::arch);
  return found == std::end(kBertFamily) ? nullptr : found;
}

}  // namespace ds
