// HfTensor: maps tensors of a Hugging Face folder to parts of this program's tensors
// (docs/models.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

/// One tensor of the folder. Ours is (our_rows, our_columns), row-major, with our_rows = 1 for
/// vectors. The folder's tensor holds its first `rows` rows and columns [first_column, first_column
/// + columns), transposed or not.
struct HfTensor {
  std::string name{};                 // "model.layers.0.self_attn.q_proj.weight"
  std::string ours{};                 // "layers.0.self_attn.qkv_proj.weight"
  std::vector<std::int64_t> shape{};  // of the folder's tensor
  std::int64_t our_rows = 1, our_columns = 1;
  std::int64_t rows = 1, first_column = 0, columns = 1;
  bool transposed = false;

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  /// Returns the shape of our tensor.
  [[nodiscard]] std::vector<std::int64_t> our_shape() const;
};

/// Returns all tensors of a model; parts of one of ours are adjacent. `vocab`: rows of the folder's
/// embedding (and of an untied head), at most model.vocab; `positions`: the longest sequence.
std::vector<HfTensor> hf_tensors(const ModelConfig& model, std::int64_t vocab,
                                 std::int64_t positions);

/// Returns the prefix of the folder's names, which some files leave out: "transformer.", "model.",
/// "bert.", "roberta."; T5 has none.
std::string_view hf_prefix(const ModelConfig& model);

/// Returns the name of the embedding in the folder.
std::string hf_embedding(const ModelConfig& model);

/// Returns whether our tensor is a table of positions, of which a folder may have more rows.
bool is_position_table(std::string_view ours);

/// Returns whether a file may hold this tensor beside those that a model needs: a buffer that is
/// not a weight, the head where it is the embedding, or a part that a masked LM does not use.
bool is_no_weight(std::string_view name, const ModelConfig& model);

}  // namespace ds
