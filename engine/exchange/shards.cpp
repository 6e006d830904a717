// cut_shards(): greedy, like Hugging Face's save_pretrained.
#include "engine/exchange/shards.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ds {

std::vector<ShardFile> cut_shards(const std::vector<HfTensor>& tensors, DType dtype,
                                  std::int64_t most) {
  std::vector<ShardFile> shards;
  std::int64_t filled = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t bytes = tensors[i].elements() * size_of(dtype);
    if (shards.empty() || filled + bytes > most) {
      shards.emplace_back();
      filled = 0;
    }
    ShardFile& shard = shards.back();
    shard.tensors.push_back(i);
    shard.entries.push_back({.name = tensors[i].name,
                             .dtype = dtype,
                             .shape = tensors[i].shape,
                             .from = filled,
                             .to = filled + bytes});
    filled += bytes;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    ShardFile& shard = shards[i];
    shard.name = shards.size() == 1
                     ? "model.safetensors"
                     : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    shard.header = safetensors_header(shard.entries);
    shard.bytes = std::ssize(shard.header) + shard.entries.back().to;
  }
  return shards;
}

std::string index_json(const std::vector<ShardFile>& shards) {
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  std::int64_t total = 0;
  for (const ShardFile& shard : shards) {
    for (const SafetensorsEntry& entry : shard.entries) map[entry.name] = shard.name;
    total += shard.entries.back().to;
  }
  const nlohmann::ordered_json json = {{"metadata", {{"total_size", total}}},
                                       {"weight_map", std::move(map)}};
  return json.dump(2) + "\n";
}

}  // namespace ds
