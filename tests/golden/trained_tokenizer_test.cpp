// Tests trained tokenizers against those of Hugging Face's BpeTrainer (fixtures/
// trained_tokenizers.json, made by compare_trained_tokenizers.py).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/tokenizer_training/tokenizer_files.h"
#include "support/temp_folder.h"

namespace ds::golden {
namespace {

using Json = nlohmann::json;

TrainedBpe trained(const Json& wanted) {
  const test::TempFolder folder;
  TextFiles texts;
  for (const Json& document : wanted["documents"])
    texts.files.push_back(
        folder.file(std::to_string(texts.files.size()) + ".txt", document.get<std::string>()));
  BpeSettings settings{.vocab = wanted["vocab"].get<std::int64_t>(),
                       .min_frequency = wanted["min_frequency"].get<std::int64_t>(),
                       .special = {"<|endoftext|>"}};
  for (const Json& token : wanted["special"]) settings.special.push_back(token.get<std::string>());
  const std::string pattern = piece_pattern(wanted["pattern"].get<std::string>());
  return train_bpe(count_pieces(texts, pattern, {.threads = 2}), settings);
}

TEST_CASE("A trained tokenizer has the tokens and merges of tokenizers' BpeTrainer") {
  std::ifstream file(std::string(DS_FIXTURES) + "/trained_tokenizers.json");
  for (const Json& wanted : Json::parse(file)) {
    CAPTURE(wanted["vocab"]);
    const TrainedBpe bpe = trained(wanted);
    const auto token = [&](std::int32_t number) {
      return bpe.tokens[static_cast<std::size_t>(number)];
    };
    // The bytes and the first special token are the same everywhere.
    REQUIRE(bpe.tokens.size() >= 257);
    CHECK(std::vector<std::string>(bpe.tokens.begin() + 257, bpe.tokens.end()) ==
          wanted["tokens"].get<std::vector<std::string>>());
    Json merges = Json::array();
    for (const auto& [left, right] : bpe.merges) merges.push_back({token(left), token(right)});
    CHECK(merges == wanted["merges"]);
  }
}

}  // namespace
}  // namespace ds::golden
