#include "engine/sample/open_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/config/from_folder.h"
#include "engine/config/llama_family.h"
#include "engine/data/byte_tokens.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/exchange/companions.h"
#include "engine/exchange/hf_model.h"
#include "engine/exchange/model_facts.h"
#include "engine/models/build_model.h"
#include "engine/states/checkpoint_source.h"

namespace ds {
namespace {

using Json = nlohmann::json;

class FolderWeights final : public StateSource {
 public:
  FolderWeights(const std::string& folder, const HfWish& wish) : model_(folder, wish) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view /*state*/, std::int64_t first,
            std::span<float> into) override {
    model_.read(tensor.name, first, into);
  }

 private:
  HfModel model_;
};

bool has(const std::string& folder, const char* name) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(folder) / name, error);
}

/// Returns the numbers of an eos_token_id: a number, a list, or null.
std::vector<std::int32_t> numbers_of(const Json& value) {
  std::vector<std::int32_t> numbers;
  for (const Json& each : value.is_array() ? value : Json::array({value}))
    if (each.is_number_integer() && each >= 0 && each <= INT32_MAX)
      numbers.push_back(each.get<std::int32_t>());
  return numbers;
}

/// Returns the tokens that end a text. As in transformers, generation_config.json decides where it
/// exists, then config.json, whose missing key has a default by model_type.
std::vector<std::int32_t> ends_of(const std::string& folder, const std::string& arch) {
  constexpr const char* kKey = "eos_token_id";
  const Companions companions = companions_of(folder);
  for (const auto& [name, text] : companions.files) {
    if (name != "generation_config.json") continue;
    const Json json = Json::parse(text, nullptr, false);
    return json.is_object() && json.contains(kKey) ? numbers_of(json[kKey])
                                                   : std::vector<std::int32_t>();
  }
  for (const auto& [name, value] : companions.tokens)
    if (name == kKey) return numbers_of(Json::parse(value, nullptr, false));
  if (arch == "gpt2") return {50256};
  return arch == "llama" || arch == "mistral" ? std::vector<std::int32_t>{2}
                                              : std::vector<std::int32_t>();
}

/// Returns how many positions a config.json gives the model.
std::int64_t positions_of(const std::string& folder, const std::string& arch) {
  std::ifstream file(folder + "/config.json");
  const Json json = Json::parse(file, nullptr, false);
  const bool learned = arch == "gpt2";
  const char* const key = learned ? "n_positions" : "max_position_embeddings";
  const std::int64_t usual = learned ? 1024 : arch == "llama" ? 2048 : 32768;
  if (!json.is_object() || !json.contains(key)) return usual;
  if (!json[key].is_number_integer() || json[key] < 1 || json[key] > (1 << 30))
    throw Error(ErrorKind::config,
                fmt::format("{}/config.json: {} is {}, not a number of positions", folder, key,
                            json[key].dump()));
  return json[key].get<std::int64_t>();
}

SampledModel open_folder(const std::string& folder, std::int64_t length) {
  SampledModel opened{.path = folder};
  opened.model = model_of_folder(folder);
  const std::string& arch = opened.model.arch;
  opened.positions = positions_of(folder, arch);
  // Rotary positions need no table, so the weights of any length fit.
  opened.table_positions = arch == "gpt2" ? opened.positions : std::min(length, opened.positions);
  opened.tokens = opened.model.vocab;
  opened.is_bytes = opened.tokens == kByteTokens;
  for (const std::int32_t end : ends_of(folder, arch))
    if (end < opened.tokens) opened.ends.push_back(end);
  opened.weights = std::make_unique<FolderWeights>(
      folder, HfWish{.model = opened.model, .positions = opened.table_positions});
  return opened;
}

SampledModel open_checkpoint(const std::string& path) {
  const std::string folder = checkpoint_at(path);
  auto checkpoint = Checkpoint::open(folder);
  const ModelFacts facts = model_facts(checkpoint->manifest());
  return {.path = folder,
          .model = facts.model,
          .lora = facts.lora,
          .positions = facts.seq_len,
          .table_positions = facts.seq_len,
          .tokens = facts.tokens() > 0 ? facts.tokens() : facts.model.vocab,
          .is_bytes = facts.tokenizer == "bytes",
          .ends = {},
          .weights = std::make_unique<CheckpointSource>(std::move(checkpoint), LoadWhat::weights),
          .is_checkpoint = true};
}

}  // namespace

SampledModel open_model(const std::string& path, std::int64_t length) {
  if (has(path, "adapter_config.json"))
    throw Error(ErrorKind::config,
                path + ": holds an adapter, without the model that it belongs to",
                "merge it into its model (PEFT's merge_and_unload) and name that folder");
  SampledModel opened =
      has(path, "config.json") ? open_folder(path, length) : open_checkpoint(path);
  const std::string& arch = opened.model.arch;
  if (arch != "gpt2" && llama_family(arch) == nullptr)
    throw Error(
        ErrorKind::config,
        fmt::format("{}: a model of the architecture {} cannot be sampled from yet", path, arch),
        "gpt2, llama, mistral, qwen2 and qwen3 can");
  return opened;
}

Program build_sampled(const SampledModel& model, const ModelShape& shape) {
  return with_lora(build_model(model.model, shape), model.model, model.lora, model.table_positions,
                   /*dropout=*/0);
}

void require_weights(const SampledModel& model, const Program& program) {
  if (model.is_checkpoint)
    require_tensors(*Checkpoint::open(model.path), LoadWhat::weights, program, {});
}

}  // namespace ds
