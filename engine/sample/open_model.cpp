#include "engine/sample/open_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/config/bert_family.h"
#include "engine/config/from_folder.h"
#include "engine/data/byte_tokens.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/exchange/hf_model.h"
#include "engine/exchange/model_facts.h"
#include "engine/models/build_model.h"
#include "engine/sample/folder_tokens.h"
#include "engine/states/checkpoint_source.h"
#include "engine/tokenizer/tokenizer.h"

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
  [[nodiscard]] std::unique_ptr<StateSource> for_another_thread() override {
    return std::make_unique<SameSource>(*this);
  }

 private:
  HfModel model_;
};

bool has(const std::string& folder, const char* name) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(folder) / name, error);
}

// T5 has distances of tokens, not positions; the longest text needs 2^20 of them in memory.
constexpr std::int64_t kMostDistances = std::int64_t{1} << 20;

/// Returns how many positions a config.json gives the model.
std::int64_t positions_of(const std::string& folder, const ModelConfig& model) {
  const std::string& arch = model.arch;
  if (arch == "t5") return kMostDistances;
  std::ifstream file(folder + "/config.json");
  const Json json = Json::parse(file, nullptr, false);
  const bool learned = arch == "gpt2";
  const char* const key = learned ? "n_positions" : "max_position_embeddings";
  const bool is_encoder = bert_family(arch) != nullptr;
  const std::int64_t usual = learned ? 1024 : is_encoder ? 512 : arch == "llama" ? 2048 : 32768;
  if (!json.is_object() || !json.contains(key)) return usual;
  if (!json[key].is_number_integer() || json[key] <= model.first_position || json[key] > (1 << 30))
    throw Error(ErrorKind::config,
                fmt::format("{}/config.json: {} is {}, not a number of positions", folder, key,
                            json[key].dump()));
  return json[key].get<std::int64_t>() - model.first_position;
}

SampledModel open_folder(const std::string& folder, std::int64_t length) {
  SampledModel opened{.path = folder};
  opened.model = model_of_folder(folder);
  const std::string& arch = opened.model.arch;
  opened.positions = positions_of(folder, opened.model);
  opened.table_positions = std::min(length, opened.positions);  // a table may have more rows
  opened.tokens = opened.model.vocab;
  opened.is_bytes = opened.tokens == kByteTokens;
  if (!opened.is_bytes && Tokenizer::exists(folder)) opened.tokenizer = folder;
  const FolderTokens named = folder_tokens(folder, arch);
  for (const std::int32_t end : named.ends)
    if (end < opened.tokens) opened.ends.push_back(end);
  if (named.start < opened.tokens) opened.start = named.start;
  if (named.mask && *named.mask < opened.tokens) opened.mask = named.mask;
  opened.weights = std::make_unique<FolderWeights>(
      folder, HfWish{.model = opened.model, .positions = opened.table_positions});
  return opened;
}

/// Returns the path of data.tokenizer if that is one, and the files are here.
std::string tokenizer_here(const std::string& given) {
  std::error_code ignored;
  const bool is_path = given != "bytes" && given != "none" && !given.empty();
  const bool is_here =
      is_path && (Tokenizer::exists(given) || std::filesystem::is_regular_file(given, ignored));
  return is_here ? given : std::string();
}

/// Returns the tokens that the tokenizer of a checkpoint names, if it is a folder here.
FolderTokens named_by(const std::string& tokenizer) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(tokenizer, ignored)) return {};
  return folder_tokens(tokenizer, /*arch=*/"");
}

SampledModel open_checkpoint(const std::string& path) {
  const std::string folder = checkpoint_at(path);
  auto checkpoint = Checkpoint::open(folder);
  const ModelFacts facts = model_facts(checkpoint->manifest());
  const std::string tokenizer = tokenizer_here(facts.tokenizer);
  const FolderTokens named = named_by(tokenizer);
  return {.path = folder,
          .model = facts.model,
          .lora = facts.lora,
          .positions = facts.model.arch == "t5" ? kMostDistances : facts.seq_len,
          .table_positions = facts.seq_len,
          .tokens = facts.tokens() > 0 ? facts.tokens() : facts.model.vocab,
          .is_bytes = facts.tokenizer == "bytes",
          .tokenizer = tokenizer,
          .ends = named.ends,
          .mask = named.mask,
          .weights = std::make_unique<CheckpointSource>(std::move(checkpoint), LoadWhat::weights),
          .is_checkpoint = true};
}

}  // namespace

SampledModel open_model(const std::string& path, std::int64_t length) {
  if (has(path, "adapter_config.json"))
    throw Error(ErrorKind::config,
                path + ": holds an adapter, without the model that it belongs to",
                "merge it into its model (PEFT's merge_and_unload) and name that folder");
  return has(path, "config.json") ? open_folder(path, length) : open_checkpoint(path);
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
