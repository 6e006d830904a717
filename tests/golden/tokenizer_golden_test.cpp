// Tests tokens and decoded text against those of Hugging Face's tokenizers library
// (fixtures/tokenizers, made by make_tokenizer_fixture.py).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/tokenizer/tokenizer.h"
#include "support/hex.h"

namespace ds::golden {
namespace {

const std::string kFolder = std::string(DS_FIXTURES) + "/tokenizers/";

nlohmann::json json_in(const std::string& name) {
  std::ifstream file(kFolder + name);
  REQUIRE(file.is_open());
  return nlohmann::json::parse(file);
}

std::set<std::string> names() {
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    const std::size_t end = name.find(".tokens.json");
    if (end != std::string::npos) all.insert(name.substr(0, end));
  }
  return all;
}

TEST_CASE("tokens and text are those of the tokenizers library") {
  const auto texts = json_in("texts.json").get<std::vector<std::string>>();
  REQUIRE(names().size() >= 12);
  for (const std::string& name : names()) {
    CAPTURE(name);
    const Tokenizer tokenizer = Tokenizer::open(kFolder + name + ".json");
    const nlohmann::json wanted = json_in(name + ".tokens.json");
    REQUIRE(wanted.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(i);
      const auto tokens = tokenizer.encode(test::from_hex(texts[i]));
      CHECK(tokens == wanted[i][0].get<std::vector<std::int32_t>>());
      CHECK(tokenizer.decode(tokens, true) == wanted[i][1].get<std::string>());
      CHECK(tokenizer.decode(tokens) == wanted[i][2].get<std::string>());
    }
  }
}

}  // namespace
}  // namespace ds::golden
