// The whole GPT-2 in double precision, forward only, from the ops beside it: the oracle for finite
// differences.
#pragma once

#include <map>
#include <string>

#include "reference/ops.h"

namespace ds::reference {

struct Gpt2 {
  Index layers, hidden, heads, seq_len, valid_vocab;
  std::map<std::string, Values> parameters;  // by the engine's names

  [[nodiscard]] const Values& at(const std::string& name) const { return parameters.at(name); }
  [[nodiscard]] Values norm(const Values& x, const std::string& name) const {
    return layer_norm(x, at(name + ".weight"), at(name + ".bias"), 1e-5).out;
  }
  [[nodiscard]] Values dense(const Values& x, const std::string& name, Index inputs) const {
    return linear(x, at(name + ".weight"), at(name + ".bias"), inputs);
  }

  /// Returns the head's input: (rows, C).
  [[nodiscard]] Values trunk(const std::vector<std::int32_t>& tokens) const {
    const Values &wte = at("wte.weight"), &wpe = at("wpe.weight");
    Values x(tokens.size() * hidden);
    for (Index i = 0; i < x.size(); ++i) {
      const Index row = i / hidden, c = i % hidden;
      x[i] = wte[static_cast<Index>(tokens[row]) * hidden + c] + wpe[row % seq_len * hidden + c];
    }
    const auto add = [&](const Values& delta) {
      for (Index i = 0; i < x.size(); ++i) x[i] += delta[i];
    };
    const AttentionShape s{tokens.size() / seq_len, heads, seq_len, hidden / heads};
    for (Index layer = 0; layer < layers; ++layer) {
      const std::string h = "h." + std::to_string(layer) + ".";
      const Values flat = dense(norm(x, h + "ln_1"), h + "attn.c_attn", hidden);
      add(dense(attention(heads_of_rows(flat, s), s).out, h + "attn.c_proj", hidden));
      Values u = dense(norm(x, h + "ln_2"), h + "mlp.c_fc", hidden);
      for (double& value : u) value = gelu(value);
      add(dense(u, h + "mlp.c_proj", 4 * hidden));
    }
    return norm(x, "ln_f");
  }

  /// Returns the sum of losses over the valid targets, in nats.
  [[nodiscard]] double loss(const std::vector<std::int32_t>& tokens,
                            const std::vector<std::int32_t>& targets) const {
    const Values in = trunk(tokens);
    const Values& wte = at("wte.weight");
    double sum = 0;
    for (Index row = 0; row < targets.size(); ++row) {
      if (targets[row] < 0) continue;
      Values logits(valid_vocab);
      double largest = -1e300, total = 0;
      for (Index v = 0; v < valid_vocab; ++v) {
        logits[v] = dot(&in[row * hidden], &wte[v * hidden], hidden);
        largest = std::max(largest, logits[v]);
      }
      for (const double x : logits) total += std::exp(x - largest);
      sum += largest + std::log(total) - logits[static_cast<Index>(targets[row])];
    }
    return sum;
  }
};

}  // namespace ds::reference
