// Symbolic: runs a program on hashes instead of numbers; peak_of(). For tests of passes that move
// or repeat ops.
#pragma once

#include <algorithm>
#include <functional>

#include "engine/program/liveness.h"

namespace ds::test {

/// Returns what an op drops; a rate of 0 for ops without dropout.
inline DropoutAttrs dropout_of(const Op& op) {
  if (const auto* plain = std::get_if<ops::Dropout>(&op.attrs)) return plain->dropout;
  if (const auto* forward = std::get_if<ops::Attention>(&op.attrs)) return forward->dropout;
  if (const auto* backward = std::get_if<ops::AttentionBackward>(&op.attrs))
    return backward->forward.dropout;
  return {};
}

/// Computes for every value a hash of how it was computed. Equal hashes mean equal numbers, by the
/// kernels' promises (a norm of a kept sum, GELU alone, a second run).
class Symbolic {
 public:
  explicit Symbolic(const Program& program) : program_(program), hashes_(program.values.size()) {
    for (std::size_t i = 0; i < hashes_.size(); ++i) hashes_[i] = text(program.values[i].name);
    for (const Op& op : program.ops) run(op);
  }
  [[nodiscard]] std::vector<std::size_t> gradients() const {
    std::vector<std::size_t> all;
    for (const ParamGroup& group : program_.groups) {
      for (const ParamTensor& tensor : group.tensors) all.push_back(at(tensor.gradient));
    }
    return all;
  }

 private:
  static std::size_t text(const std::string& name) { return std::hash<std::string>{}(name); }
  static std::size_t mix(std::size_t a, std::size_t b) { return a * 1000003U ^ (b + (a >> 7U)); }
  [[nodiscard]] std::size_t at(ValueId id) const {
    return id == kNoValue ? 0 : hashes_[static_cast<std::size_t>(id)];
  }
  void set(ValueId id, std::size_t hash) {
    if (id != kNoValue) hashes_[static_cast<std::size_t>(id)] = hash;
  }
  [[nodiscard]] std::size_t key(const Op& op, std::size_t part) const {
    std::size_t hash = mix(mix(text(op.path), part), dropout_of(op).key);
    for (const ValueId id : op.in) hash = mix(hash, at(id));
    return hash;
  }

  void run(const Op& op) {
    if (is<ops::LayerNorm>(op)) {
      const std::size_t sum = op.in[1] == kNoValue ? at(op.in[0]) : mix(at(op.in[0]), at(op.in[1]));
      const std::size_t norm = mix(mix(mix(text(op.path), sum), at(op.in[2])), at(op.in[3]));
      set(op.out[0], sum);
      for (std::size_t i = 1; i < 4; ++i) set(op.out[i], mix(norm, i));
    } else if (is<ops::Linear>(op) && op.out[1] != kNoValue) {
      set(op.out[1], key(op, 1));
      set(op.out[0], mix(at(op.out[1]), text("gelu")));
    } else if (is<ops::Gelu>(op)) {
      set(op.out[0], mix(at(op.in[0]), text("gelu")));
    } else if (is<ops::Copy>(op)) {
      set(op.out[0], at(op.in[0]));
    } else {
      for (std::size_t i = 0; i < op.out.size(); ++i) {
        if (op.out[i] == kNoValue) continue;
        const bool adds = op.adds_to(i);
        set(op.out[i], adds ? mix(at(op.out[i]), key(op, i)) : key(op, i));
      }
    }
  }

  const Program& program_;
  std::vector<std::size_t> hashes_;
};

/// Returns the most bytes of activations alive at one op in one tier.
inline std::int64_t peak_of(const Program& program, Tier tier) {
  const std::vector<Life> lives = lives_of(program);
  std::int64_t most = 0;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    std::int64_t now = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const Value& value = program.values[i];
      const bool counts = value.kind == ValueKind::activation && value.tier == tier;
      if (counts && lives[i].used() && lives[i].meets({op, op})) now += bytes_of(value);
    }
    most = std::max(most, now);
  }
  return most;
}

}  // namespace ds::test
