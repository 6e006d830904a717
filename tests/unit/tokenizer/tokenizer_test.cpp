// Tests what the golden fixtures do not: broken UTF-8, refused and damaged files, long words,
// special tokens.
#include "engine/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Json = nlohmann::json;

Json bpe() {
  return {{"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"abab", 3}, {"<e>", 4}}},
            {"merges", {"a b", "ab ab"}}}},
          {"added_tokens", {{{"id", 4}, {"content", "<e>"}, {"special", true}}}}};
}

Tokenizer opened(const Json& json) { return {json.dump(), "tokenizer.json"}; }

std::string error_of(const Json& json) {
  try {
    opened(json);
    return "no error";
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
}

using Tokens = std::vector<std::int32_t>;

TEST_CASE("broken UTF-8 becomes U+FFFD as Python replaces it") {
  const std::string r = "\xEF\xBF\xBD";
  CHECK(unicode::valid("a\xFF"
                       "b") == "a" + r + "b");
  CHECK(unicode::valid("\xC0\x80") == r + r);          // too long a form
  CHECK(unicode::valid("\xED\xA0\x80") == r + r + r);  // a surrogate
  CHECK(unicode::valid("\xF0\x9F\x91") == r);          // a character cut at the end
  CHECK(unicode::valid("\xF0\x9F"
                       "a") == r + "a");
  CHECK(unicode::valid("\xF4\x90\x80\x80") == r + r + r + r);  // above U+10FFFF
  CHECK(unicode::valid(std::string_view("\0\xE4\xB8\xAD", 4)) ==
        std::string_view("\0\xE4\xB8\xAD", 4));
}

TEST_CASE(
    "merges by rank; characters without a token vanish; special tokens are found and left out") {
  const Tokenizer tokenizer = opened(bpe());
  CHECK(tokenizer.encode("abab") == Tokens{3});
  CHECK(tokenizer.encode("aabb") == Tokens{0, 2, 1});
  CHECK(tokenizer.encode("azb").size() == 1);
  CHECK(tokenizer.encode("a<e>b") == Tokens{0, 4, 1});
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode(Tokens{3, 4, 99, -1}, true) == "abab <e>");
  CHECK(tokenizer.decode(Tokens{3, 4}) == "abab");
  CHECK(tokenizer.size() == 5);
  CHECK(tokenizer.number_of("ab") == 2);
  CHECK(tokenizer.number_of("<e>") == 4);
  CHECK(!tokenizer.number_of("x"));
  CHECK(tokenizer.hash().size() == 32);
}

TEST_CASE("a word of 2 MB takes no more than n log n steps") {
  const Tokenizer tokenizer = opened(bpe());
  std::string word;
  for (int i = 0; i < (1 << 20); ++i) word += "ab";
  CHECK(tokenizer.encode(word) == Tokens(1 << 19, 3));
}

TEST_CASE("components that are not supported are refused by name and place") {
  Json json = bpe();
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Digits"}}, {{"type", "UnicodeScripts"}}}}};
  CHECK(error_of(json) ==
        "tokenizer.json.pre_tokenizer.pretokenizers[1]: the type \"UnicodeScripts\" is not "
        "supported");
  json = bpe();
  json["model"]["dropout"] = 0.1;
  CHECK(error_of(json).find("\"dropout\" is not supported") != std::string::npos);
  json = bpe();
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "["}}}, {"content", ""}};
  CHECK(error_of(json).find("regular expression [:") != std::string::npos);
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "[a&&b]"}}}, {"content", ""}};
  CHECK(error_of(json).find("sets of characters within sets") != std::string::npos);
  json = bpe();
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {{{"SpecialToken", {{"id", "[X]"}}}}}},
                            {"special_tokens", Json::object()}};
  CHECK(error_of(json).find("\"special_tokens\" does not have \"[X]\"") != std::string::npos);
}

TEST_CASE("damaged files are refused") {
  CHECK_THROWS_AS(Tokenizer("{\"model\":", "x"), Error);
  CHECK(error_of(Json::array()) == "tokenizer.json: is not an object");
  CHECK(error_of(Json::object()) == "tokenizer.json: has no \"model\"");
  Json json = bpe();
  json["model"]["merges"].push_back("b c");
  CHECK(error_of(json).find("needs a token that the vocabulary does not have") !=
        std::string::npos);
  json = bpe();
  json["model"]["vocab"]["a"] = -3;
  CHECK(error_of(json).find("the token \"a\" has no number") != std::string::npos);
  json = bpe();
  json["model"]["unk_token"] = "?";
  CHECK(error_of(json).find("the vocabulary has no \"?\"") != std::string::npos);
  json = bpe();
  json["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "/////w=="}};
  CHECK(error_of(json).find("precompiled_charsmap is damaged") != std::string::npos);
  json = bpe();
  Json nested = {{"type", "NFC"}};
  for (int i = 0; i < 200; ++i)
    nested = {{"type", "Sequence"}, {"normalizers", Json::array({nested})}};
  json["normalizer"] = nested;
  CHECK(error_of(json).find("is nested too deeply") != std::string::npos);
}

TEST_CASE("expressions find what Oniguruma finds") {
  std::vector<Part> found;
  Pattern("a*").find("baab", found);
  CHECK(found == std::vector<Part>{{1, 3}});
  Pattern(R"(\w+)").find("a\xCC\x81_1 \xE2\x91\xA0",
                         found);  // a mark is of a word, a circled 1 is not
  CHECK(found == std::vector<Part>{{0, 5}});
  Pattern(escaped("a.b\\")).find("axb\\a.b\\", found);
  CHECK(found == std::vector<Part>{{4, 8}});
}

}  // namespace
}  // namespace ds
