// The whole BERT or RoBERTa in double precision, forward only, from the ops beside it: the oracle
// for finite differences.
#pragma once

#include <map>
#include <string>

#include "reference/ops.h"

namespace ds::reference {

struct Bert {
  using Numbers = std::vector<std::int32_t>;

  Index layers, hidden, heads, ffn, seq_len, valid_vocab;
  double norm_eps;
  Activation activation, head_activation;
  std::string head_dense, head_norm, head_bias;
  std::map<std::string, Values> parameters{};  // by the engine's names

  /// One batch. documents: empty if a row is one.
  struct Rows {
    const Numbers &tokens, &positions, &token_types, &documents;
  };

  [[nodiscard]] const Values& at(const std::string& name) const { return parameters.at(name); }
  [[nodiscard]] Values norm(const Values& x, const std::string& name) const {
    return layer_norm(x, at(name + ".weight"), at(name + ".bias"), norm_eps).out;
  }
  [[nodiscard]] Values dense(const Values& x, const std::string& name, Index inputs) const {
    return linear(x, at(name + ".weight"), at(name + ".bias"), inputs);
  }
  [[nodiscard]] static Values activated(Values x, Activation function) {
    for (double& value : x) value = reference::activated(function, value);
    return x;
  }
  [[nodiscard]] static Values sum(Values a, const Values& b) {
    for (Index i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  /// Returns the rows of a table that numbers select.
  [[nodiscard]] Values rows_of(const std::string& name, const Numbers& numbers) const {
    const Values& table = at("embeddings." + name + "_embeddings.weight");
    Values x(numbers.size() * hidden);
    for (Index i = 0; i < x.size(); ++i)
      x[i] = table[static_cast<Index>(numbers[i / hidden]) * hidden + i % hidden];
    return x;
  }

  /// Returns a row's keys: the run of its document. Padding has none.
  [[nodiscard]] AttentionMask mask_of(const Numbers& documents) const {
    AttentionMask mask{.causal = false};
    for (Index r = 0; r < documents.size(); ++r) {
      const Index row = r / seq_len * seq_len;
      Index first = 0, last = 0;
      if (documents[r] >= 0) {
        while (documents[row + first] != documents[r]) ++first;
        last = first;
        while (last < seq_len && documents[row + last] == documents[r]) ++last;
      }
      mask.ranges.push_back(static_cast<std::int32_t>(first));
      mask.ranges.push_back(static_cast<std::int32_t>(last));
    }
    return mask;
  }

  /// Returns the head's input: (rows, C).
  [[nodiscard]] Values trunk(const Rows& in) const {
    Values x = sum(sum(rows_of("word", in.tokens), rows_of("position", in.positions)),
                   rows_of("token_type", in.token_types));
    x = norm(x, "embeddings.LayerNorm");
    const AttentionShape s{in.tokens.size() / seq_len, heads, seq_len, hidden / heads};
    const AttentionMask mask = mask_of(in.documents);
    for (Index layer = 0; layer < layers; ++layer) {
      const std::string h = "encoder.layer." + std::to_string(layer) + ".";
      const Values flat = dense(x, h + "attention.self.qkv", hidden);
      const Values seen = attention(heads_of_rows(flat, s), s, {}, mask).out;
      x = norm(sum(x, dense(seen, h + "attention.output.dense", hidden)),
               h + "attention.output.LayerNorm");
      const Values u = activated(dense(x, h + "intermediate.dense", hidden), activation);
      x = norm(sum(x, dense(u, h + "output.dense", ffn)), h + "output.LayerNorm");
    }
    return norm(activated(dense(x, head_dense, hidden), head_activation), head_norm);
  }

  /// Returns the sum of losses over the valid targets, in nats.
  [[nodiscard]] double loss(const Rows& in, const Numbers& targets) const {
    return head_loss(trunk(in), at("embeddings.word_embeddings.weight"), targets, hidden,
                     valid_vocab, 1, at(head_bias))
        .loss;
  }
};

}  // namespace ds::reference
