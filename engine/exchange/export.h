// export_hugging_face(): writes a checkpoint's weights as a Hugging Face folder, a few pieces in
// memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/reader.h"
#include "engine/tensor/tensor.h"

namespace ds {

struct ExportRequest {
  std::string out{};
  DType dtype = DType::f32;  // f32, bf16, f16
  std::int64_t shard_bytes = std::int64_t{5} << 30;
  std::int64_t vocab =
      0;  // rows of the embedding; 0: those of the folder `like`, else as many as the tokenizer has
          // tokens, where known, else all
  std::string like{};  // folder whose companions are copied; empty: where the weights came from
};

struct ExportResult {
  std::int64_t bytes = 0;  // of all tensors
  int files = 0;           // files with tensors
  std::int64_t vocab = 0, our_vocab = 0;
  // Whether the number of tokens is known, and so which rows are padding.
  bool is_vocab_known = false;
  std::int64_t overflowed = 0;  // weights too large for f16, written as infinity
  std::string like{};                // the folder of the companions; empty: none is known
  std::vector<std::string> copied{};  // companions' names
};

/// Writes config.json, model.safetensors or its shards, their index, and companions of the folder
/// where the weights came from (companions.h). The folder appears
/// complete or not at all. Memory: a panel of kPanelBytes as f32, one as the file's type, and one
/// piece. Errors: Error{config}: `out` is not empty, too little space, a model that the format does
/// not support, tensors that do not fit it (all are listed), a damaged piece; Error{usage}:
/// `vocab`; Error{system}: it cannot be written.
ExportResult export_hugging_face(const std::shared_ptr<const Checkpoint>& checkpoint,
                                 const ExportRequest& request,
                                 const std::function<void(std::int64_t, std::int64_t)>& progress);

/// Bytes of rows that are transposed at once.
inline constexpr std::int64_t kPanelBytes = 16 << 20;

}  // namespace ds
