// Which tensor of a Hugging Face folder is which part of which tensor here (docs/models.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// One of theirs. Ours is (our_rows, our_columns), row-major, our_rows = 1 for vectors; theirs has
/// the first `rows` of them, columns [first_column, first_column + columns), transposed or not.
struct HfTensor {
  std::string name{};                 // "model.layers.0.self_attn.q_proj.weight"
  std::string ours{};                 // "layers.0.self_attn.qkv_proj.weight"
  std::vector<std::int64_t> shape{};  // theirs
  std::int64_t our_rows = 1, our_columns = 1;
  std::int64_t rows = 1, first_column = 0, columns = 1;
  bool transposed = false;

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  /// Of ours.
  [[nodiscard]] std::vector<std::int64_t> our_shape() const;
};

/// All of a model, parts of one of ours side by side. `vocab`: rows of the embedding (and of a head
/// of its own) that theirs has, at most model.vocab; `positions`: rows of learned positions.
std::vector<HfTensor> hf_tensors(const ModelConfig& model, std::int64_t vocab,
                                 std::int64_t positions);

/// What their names begin with, and what some files leave out: "transformer.", "model.".
std::string_view hf_prefix(const ModelConfig& model);

/// Whether files may hold it beside what a model needs: buffers that are no weights, and the head
/// where it is the embedding.
bool is_no_weight(std::string_view name, const ModelConfig& model);

}  // namespace ds
