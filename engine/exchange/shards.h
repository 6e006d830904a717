// cut_shards(): how an exported model is cut into files. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exchange/hf_tensors.h"
#include "engine/safetensors/safetensors.h"

namespace ds {

struct ShardFile {
  std::string name{};                  // "model.safetensors", "model-00001-of-00003.safetensors"
  std::string header{};                // the first bytes of the file
  std::vector<std::size_t> tensors{};  // indices into hf_tensors(), in its order
  std::vector<SafetensorsEntry> entries{};  // of these tensors
  std::int64_t bytes = 0;                   // of the file
};

/// Cuts in order, with as many tensors per file as fit into `most` bytes; a larger tensor has its
/// own file.
std::vector<ShardFile> cut_shards(const std::vector<HfTensor>& tensors, DType dtype,
                                  std::int64_t most);

/// Formats model.safetensors.index.json: which file holds which tensor.
std::string index_json(const std::vector<ShardFile>& shards);

}  // namespace ds
