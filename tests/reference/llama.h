// The whole Llama in double precision, forward only, from the ops beside it: the oracle for finite
// differences.
#pragma once

#include <map>
#include <string>

#include "reference/ops.h"

namespace ds::reference {

struct Llama {
  Index layers, hidden, heads, kv_heads, ffn, seq_len, valid_vocab;
  double rope_theta, norm_eps;
  bool tied;
  Index head_size = 0;  // 0: hidden / heads
  RotaryScaling scaling{};
  std::int64_t window = 0;                     // positions that attention sees; 0: all before
  Index full_layers = 0;                       // first layers without it
  std::map<std::string, Values> parameters{};  // by the engine's names

  [[nodiscard]] const Values& at(const std::string& name) const {
    return parameters.at(name + ".weight");
  }
  [[nodiscard]] Values norm(const Values& x, const std::string& name) const {
    return rms_norm(x, at(name), norm_eps).out;
  }
  /// Queries, keys and values in rows, with their bias where the model has one.
  [[nodiscard]] Values qkv_rows(const Values& x, const std::string& name) const {
    Values rows = dense(x, name, hidden);
    const auto bias = parameters.find(name + ".bias");
    if (bias == parameters.end()) return rows;
    for (Index i = 0; i < rows.size(); ++i) rows[i] += bias->second[i % bias->second.size()];
    return rows;
  }
  /// Heads with the norms of queries and keys where the model has them.
  [[nodiscard]] Values normed_heads(Values heads_values, const AttentionShape& s,
                                    const std::string& name) const {
    if (!parameters.contains(name + "q_norm.weight")) return heads_values;
    return head_norm(heads_values, s, at(name + "q_norm"), at(name + "k_norm"), norm_eps);
  }
  [[nodiscard]] Values dense(const Values& x, const std::string& name, Index inputs) const {
    return product(x, at(name), x.size() / inputs, inputs, at(name).size() / inputs);
  }

  /// Returns the head's input: (rows, C).
  [[nodiscard]] Values trunk(const std::vector<std::int32_t>& tokens) const {
    const Values& embedding = at("embed_tokens");
    Values x(tokens.size() * hidden);
    for (Index i = 0; i < x.size(); ++i) {
      x[i] = embedding[static_cast<Index>(tokens[i / hidden]) * hidden + i % hidden];
    }
    const auto add = [&](const Values& delta) {
      for (Index i = 0; i < x.size(); ++i) x[i] += delta[i];
    };
    const Index depth = head_size == 0 ? hidden / heads : head_size;
    const AttentionShape s{tokens.size() / seq_len, heads, seq_len, depth, kv_heads};
    for (Index layer = 0; layer < layers; ++layer) {
      const std::string h = "layers." + std::to_string(layer) + ".";
      const Values flat = qkv_rows(norm(x, h + "input_layernorm"), h + "self_attn.qkv_proj");
      const Values qkv = rotary(normed_heads(heads_of_rows(flat, s), s, h + "self_attn."), s,
                                rope_theta, false, false, scaling);
      const AttentionMask mask{.window = layer < full_layers ? 0 : window};
      add(dense(attention(qkv, s, {}, mask).out, h + "self_attn.o_proj", heads * depth));
      const Values both =
          dense(norm(x, h + "post_attention_layernorm"), h + "mlp.gate_up_proj", hidden);
      add(dense(glu(both, ffn), h + "mlp.down_proj", ffn));
    }
    return norm(x, "norm");
  }

  /// Returns the sum of losses over the valid targets, in nats.
  [[nodiscard]] double loss(const std::vector<std::int32_t>& tokens,
                            const std::vector<std::int32_t>& targets) const {
    const Values& head = at(tied ? "embed_tokens" : "lm_head");
    return head_loss(trunk(tokens), head, targets, hidden, valid_vocab, 1).loss;
  }
};

}  // namespace ds::reference
