// Tests tokens and decoded text against those of Hugging Face's libraries (fixtures/tokenizers,
// made by make_tokenizer_fixture.py, and fixtures/tokenizer_folders, made by
// make_tokenizer_folders.py).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/tokenizer/tokenizer.h"
#include "support/hex.h"

namespace ds::golden {
namespace {

namespace fs = std::filesystem;

const std::string kFiles = std::string(DS_FIXTURES) + "/tokenizers/";
const std::string kFolders = std::string(DS_FIXTURES) + "/tokenizer_folders/";

nlohmann::json json_in(const std::string& path) {
  CAPTURE(path);
  std::ifstream file(path);
  REQUIRE(file.is_open());
  return nlohmann::json::parse(file);
}

std::set<std::string> file_names() {
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(kFiles)) {
    const std::string name = entry.path().filename();
    const std::size_t end = name.find(".tokens.json");
    if (end != std::string::npos) all.insert(name.substr(0, end));
  }
  return all;
}

std::set<std::string> folder_names() {
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(kFolders))
    if (entry.is_directory()) all.insert(entry.path().filename());
  return all;
}

/// Compares with rows of tokens, the text of all of them, and their text without special ones.
void compare(const Tokenizer& tokenizer, const std::string& texts_path, const std::string& path) {
  const auto texts = json_in(texts_path).get<std::vector<std::string>>();
  const nlohmann::json wanted = json_in(path);
  REQUIRE(wanted.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    const auto tokens = tokenizer.encode(test::from_hex(texts[i]));
    CHECK(tokens == wanted[i][0].get<std::vector<std::int32_t>>());
    CHECK(tokenizer.decode(tokens, true) == wanted[i][1].get<std::string>());
    CHECK(tokenizer.decode(tokens) == wanted[i][2].get<std::string>());
  }
}

TEST_CASE("tokens and text are those of the tokenizers library") {
  REQUIRE(file_names().size() >= 12);
  for (const std::string& name : file_names()) {
    CAPTURE(name);
    compare(Tokenizer::open(kFiles + name + ".json"), kFiles + "texts.json",
            kFiles + name + ".tokens.json");
  }
}

TEST_CASE("tokens and text of folders without tokenizer.json are those of transformers") {
  REQUIRE(folder_names().size() >= 10);
  for (const std::string& name : folder_names()) {
    CAPTURE(name);
    const std::string folder = kFolders + name;
    compare(Tokenizer::open(folder), kFolders + "texts.json", folder + "/tokens.json");
    for (const char* const file : {"vocab.json", "merges.txt", "vocab.txt", "spiece.model"}) {
      if (fs::exists(folder + "/" + file))
        CHECK(Tokenizer::open(folder + "/" + file).hash() == Tokenizer::open(folder).hash());
    }
  }
}

}  // namespace
}  // namespace ds::golden
