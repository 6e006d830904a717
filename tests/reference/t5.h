// The whole T5 in double precision, forward only, from the ops beside it: the oracle for finite
// differences.
#pragma once

#include <map>
#include <string>

#include "reference/llama_ops.h"
#include "reference/ops.h"

namespace ds::reference {

struct T5 {
  using Numbers = std::vector<std::int32_t>;

  Index layers, decoder_layers, hidden, heads, head_size, ffn, encoder_len, seq_len, valid_vocab;
  std::int64_t buckets, distance;
  double norm_eps;
  bool gated, tied, scaled;
  std::map<std::string, Values> parameters{};  // by the engine's names

  /// One batch. Both lists of documents are empty if a row is one document.
  struct Rows {
    const Numbers &encoder_tokens, &encoder_documents, &tokens, &documents;
  };

  [[nodiscard]] const Values& at(const std::string& name) const {
    return parameters.at(name + ".weight");
  }
  [[nodiscard]] Values norm(const Values& x, const std::string& name) const {
    return rms_norm(x, at(name + "layer_norm"), norm_eps).out;
  }
  [[nodiscard]] Values dense(const Values& x, const std::string& name, Index inputs) const {
    return product(x, at(name), x.size() / inputs, inputs, at(name).size() / inputs);
  }
  [[nodiscard]] Values embedded(const Numbers& tokens) const {
    Values x(tokens.size() * hidden);
    for (Index i = 0; i < x.size(); ++i)
      x[i] = at("shared")[static_cast<Index>(tokens[i / hidden]) * hidden + i % hidden];
    return x;
  }
  static void add(Values& x, const Values& delta) {
    for (Index i = 0; i < x.size(); ++i) x[i] += delta[i];
  }

  /// Returns the run of keys with the document of each query; empty where documents are not given.
  static Numbers ranges_of(const Numbers& queries, Index time, const Numbers& keys, Index count) {
    Numbers ranges;
    for (Index r = 0; r < queries.size(); ++r) {
      const Index row = r / time * count;
      Index first = 0;
      while (first < count && (queries[r] < 0 || keys[row + first] != queries[r])) ++first;
      Index last = first;
      while (last < count && keys[row + last] == queries[r]) ++last;
      ranges.push_back(static_cast<std::int32_t>(first == last ? 0 : first));
      ranges.push_back(static_cast<std::int32_t>(first == last ? 0 : last));
    }
    return ranges;
  }

  [[nodiscard]] AttentionMask mask_of(const std::string& stack, const Numbers& documents,
                                      Index time) const {
    const bool is_encoder = stack == "encoder";
    const std::string table = stack + ".block.0.layer.0.SelfAttention.relative_attention_bias";
    return {.causal = !is_encoder,
            .ranges = ranges_of(documents, time, documents, time),
            .bias = relative_bias(at(table), heads, time, time, {buckets, distance, is_encoder}),
            .scale = 1};
  }

  [[nodiscard]] Values feed_forward(const Values& x, const std::string& name) const {
    Values u = dense(norm(x, name), name + "DenseReluDense.wi", hidden);
    if (gated) {
      u = glu(u, ffn, Activation::gelu_tanh);
    } else {
      for (double& value : u) value = activated(Activation::relu, value);
    }
    return dense(u, name + "DenseReluDense.wo", ffn);
  }

  [[nodiscard]] Values self_attention(const Values& x, const std::string& name, Index time,
                                      const AttentionMask& mask) const {
    const AttentionShape s{x.size() / hidden / time, heads, time, head_size};
    const Values flat = dense(norm(x, name), name + "SelfAttention.qkv", hidden);
    const Values seen = attention(heads_of_rows(flat, s), s, {}, mask).out;
    return dense(seen, name + "SelfAttention.o", heads * head_size);
  }

  [[nodiscard]] Values cross_attention(const Values& x, const Values& encoded,
                                       const std::string& name, const AttentionMask& mask) const {
    const AttentionShape s{x.size() / hidden / seq_len, heads, seq_len, head_size, 0, encoder_len};
    Values flat = dense(norm(x, name), name + "EncDecAttention.q", hidden);
    const Values kv = dense(encoded, name + "EncDecAttention.kv", hidden);
    flat.insert(flat.end(), kv.begin(), kv.end());
    const Values seen = attention(heads_of_rows(flat, s), s, {}, mask).out;
    return dense(seen, name + "EncDecAttention.o", heads * head_size);
  }

  [[nodiscard]] Values encoded(const Rows& in) const {
    Values x = embedded(in.encoder_tokens);
    const AttentionMask mask = mask_of("encoder", in.encoder_documents, encoder_len);
    for (Index i = 0; i < layers; ++i) {
      const std::string h = "encoder.block." + std::to_string(i) + ".layer.";
      add(x, self_attention(x, h + "0.", encoder_len, mask));
      add(x, feed_forward(x, h + "1."));
    }
    return norm(x, "encoder.final_");
  }

  /// Returns the head's input: (rows, C).
  [[nodiscard]] Values trunk(const Rows& in) const {
    const Values source = encoded(in);
    const AttentionMask mask = mask_of("decoder", in.documents, seq_len);
    const AttentionMask cross{
        .causal = false,
        .ranges = ranges_of(in.documents, seq_len, in.encoder_documents, encoder_len),
        .scale = 1};
    Values x = embedded(in.tokens);
    for (Index i = 0; i < decoder_layers; ++i) {
      const std::string h = "decoder.block." + std::to_string(i) + ".layer.";
      add(x, self_attention(x, h + "0.", seq_len, mask));
      add(x, cross_attention(x, source, h + "1.", cross));
      add(x, feed_forward(x, h + "2."));
    }
    return norm(x, "decoder.final_");
  }

  /// Returns the sum of losses over the valid targets, in nats.
  [[nodiscard]] double loss(const Rows& in, const Numbers& targets) const {
    const double scale = scaled ? 1 / std::sqrt(static_cast<double>(hidden)) : 1;
    return head_loss(trunk(in), at(tied ? "shared" : "lm_head"), targets, hidden, valid_vocab, 1,
                     {}, scale)
        .loss;
  }
};

}  // namespace ds::reference
