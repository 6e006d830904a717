// Tests what the golden fixtures do not: broken UTF-8, refused and damaged files, long words,
// special tokens.
#include "engine/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/error.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/token_model.h"
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

TEST_CASE("200,000 marks in a row are put in order") {
  constexpr int kPairs = 100000;
  std::string text = "q", sorted = "q";
  for (int i = 0; i < kPairs; ++i) text += "\xCC\x81\xCC\xA3";  // classes 230 and 220
  for (int i = 0; i < kPairs; ++i) sorted += "\xCC\xA3";
  for (int i = 0; i < kPairs; ++i) sorted += "\xCC\x81";
  CHECK((unicode::normalized(text, unicode::Form::nfd) == sorted));
}

TEST_CASE("normal forms: order of marks, composition, compatibility, Hangul") {
  using unicode::Form;
  const auto in = [](Form form, const char* text) { return unicode::normalized(text, form); };
  CHECK(in(Form::nfc, "plain ASCII\r\n") == "plain ASCII\r\n");
  CHECK(in(Form::nfd, "\u1E69") == "s\u0323\u0307");
  CHECK(in(Form::nfc, "s\u0307\u0323") == "\u1E69");
  CHECK(in(Form::nfc, "\u0958") == "\u0915\u093C");  // excluded from composition
  CHECK(in(Form::nfd, "\uD55C") == "\u1112\u1161\u11AB");
  CHECK(in(Form::nfc, "\u1112\u1161\u11AB") == "\uD55C");
  CHECK(in(Form::nfkc, "\uFB01\u00BD") == "fi1\u20442");
  CHECK(in(Form::nfkd, "\u00E9\u2460") == "e\u03011");
  CHECK(unicode::normalized(std::string_view("\0\u00E9", 3), Form::nfd) ==
        std::string_view("\0e\u0301", 4));
}

TEST_CASE("threads share a tokenizer with expressions") {
  Json json = bpe();
  json["model"]["vocab"][" "] = 5;
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "ab|b+| +"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  const Tokenizer tokenizer = opened(json);
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += std::string(i % 3 + 1, 'b') + " abab" + (i % 2 ? " " : "a");
  const Tokens wanted = tokenizer.encode(text);
  std::array<int, 4> different{};
  std::vector<std::thread> threads;
  for (int& count : different)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) count += tokenizer.encode(text) != wanted;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(different == std::array<int, 4>{});
}

TEST_CASE("an expression that only looks ahead cuts there") {
  Json json = bpe();
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "(?=b)"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  CHECK(opened(json).encode("abab") == Tokens{0, 1, 0, 1});
}

// The texts are those that tokenizers 0.23.3 printed.
TEST_CASE("added tokens decode to their normalized text, and are special by the written one") {
  const Json added = {{{"id", 2}, {"content", "<PAD>"}, {"special", true}, {"normalized", true}},
                      {{"id", 3}, {"content", "<EOS>"}, {"special", true}},
                      {{"id", 4}, {"content", "LAUNCH"}, {"normalized", true}}};
  const Json normalizers = {{{"type", "Lowercase"}}, {{"type", "Prepend"}, {"prepend", "_"}}};
  const Tokenizer tokenizer = opened(
      {{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", Json::array()}}},
       {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
       {"added_tokens", added}});
  CHECK(tokenizer.decode(Tokens{2, 3, 4}, true) == "_<pad> <EOS> _launch");
  CHECK(tokenizer.decode(Tokens{2, 3, 4}) == "_<pad> _launch");
  CHECK(tokenizer.number_of("LAUNCH") == 4);
  CHECK(!tokenizer.number_of("_launch"));
}

// Texts and numbers of the next five cases are those that tokenizers 0.23.3 printed.
TEST_CASE("a token that takes the white space behind it leaves the tokens in there") {
  Json json = bpe();
  json["added_tokens"] = {{{"id", 4}, {"content", "  "}, {"rstrip", true}, {"normalized", false}},
                          {{"id", 5}, {"content", "<e>"}, {"lstrip", true}}};
  CHECK(opened(json).encode("a       b") == Tokens{0, 4, 4, 4, 1});
  CHECK(opened(json).encode("a    <e>b") == Tokens{0, 4, 4, 5, 1});
  json["added_tokens"][0]["lstrip"] = true;
  CHECK(opened(json).encode("a       b") == Tokens{0, 4, 1});
}

TEST_CASE("a space at the beginning is the first character unless it is stripped") {
  Json json = bpe();
  json["model"]["vocab"]["_"] = 5;
  json["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}, {"split", false}};
  json["normalizer"] = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}};
  CHECK(opened(json).encode("\na \n") == Tokens{5, 0});
  json["normalizer"]["strip_left"] = true;
  CHECK(opened(json).encode("\na \n") == Tokens{0});
}

TEST_CASE("without an unknown token, Unigram refuses a character although it has the bytes") {
  const Json vocab = Json::array({{"a", -1.0}, {"<0x62>", -2.0}});
  const Tokenizer tokenizer = opened(
      {{"model",
        {{"type", "Unigram"}, {"vocab", vocab}, {"unk_id", nullptr}, {"byte_fallback", true}}}});
  CHECK(tokenizer.encode("a") == Tokens{0});
  CHECK_THROWS_AS(static_cast<void>(tokenizer.encode("ab")), Error);
}

TEST_CASE("a post-processor behind a template takes its tokens for texts") {
  Json json = bpe();
  const Json a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json e = {{"SpecialToken", {{"id", "<e>"}, {"type_id", 0}}}};
  const Json made = {{"type", "TemplateProcessing"},
                     {"single", {e, a, e}},
                     {"special_tokens", {{"<e>", {{"ids", {4}}}}}}};
  const auto with = [&](const char* type) {
    const Json last = {{"type", type}, {"sep", {"b", 1}}, {"cls", {"ab", 2}}};
    json["post_processor"] = {{"type", "Sequence"}, {"processors", {made, last}}};
    return opened(json).encode("a");
  };
  CHECK(with("RobertaProcessing") == Tokens{2, 4, 1, 1, 0, 1, 1, 4, 1});
  CHECK(with("BertProcessing") == Tokens{2, 4, 1, 0, 1, 4, 1});
  json["post_processor"] = {{"type", "Sequence"}, {"processors", {made, made}}};
  CHECK(error_of(json).find("a template behind a template is not supported") != std::string::npos);
}

TEST_CASE("scores are those that the library reads from its file") {
  CHECK(score_as_read(-9.773894309997559) == -9.77389430999756);
  CHECK(score_as_read(-11.830850601196289) == -11.830850601196287);
  CHECK(score_as_read(-3.3333333333333337e-10) == -3.333333333333333e-10);
  CHECK(score_as_read(-123456.789) == -123456.789);
  CHECK(score_as_read(-12.0) == -12.0);
  CHECK(score_as_read(0.0) == 0.0);
  CHECK(score_as_read(5e-324) == 5e-324);
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
  CHECK(error_of(json).find("tokenizer.json.normalizer: regular expression [:") == 0);
  json["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "[a&&b]"}}}, {"content", ""}};
  CHECK(error_of(json).find("sets of characters within sets") != std::string::npos);
  json = bpe();
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {{{"SpecialToken", {{"id", "[X]"}}}}}},
                            {"special_tokens", Json::object()}};
  CHECK(error_of(json).find("\"special_tokens\" does not have \"[X]\"") != std::string::npos);
}

TEST_CASE("expressions that PCRE2 reads in another way are refused") {
  for (const char* expression : {"[a-z]{2}+b", "(?m:a.b)", "\\v+", "\\bthe\\b", "\\h"}) {
    CAPTURE(expression);
    CHECK_THROWS_AS(Pattern{expression}, Error);
  }
  CHECK_NOTHROW(Pattern{"\\p{L}+|\\p{N}{1,3}"});
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
  CHECK(found == std::vector<Part>{{0, 0}, {1, 3}, {4, 4}});  // none at 3, where one ends
  Pattern("x*").find("", found);
  CHECK(found.empty());
  Pattern(R"(\w+)").find("a\xCC\x81_1 \xE2\x91\xA0",
                         found);  // a mark is of a word, a circled 1 is not
  CHECK(found == std::vector<Part>{{0, 5}});
  Pattern(R"(\w+)").find("\u00BDx\u00B2 \u200D\u2153", found);  // nor are a joiner and a third
  CHECK(found == std::vector<Part>{{0, 5}});
  Pattern(R"([\w]+)").find("\u00BDx\u00B2", found);
  CHECK(found == std::vector<Part>{{2, 3}});
  Pattern(fmt::format("[{}]+", kRustWord)).find("\u00BDx\u00B2\u200D", found);
  CHECK(found == std::vector<Part>{{2, 3}, {5, 8}});
  Pattern(escaped("a.b\\")).find("axb\\a.b\\", found);
  CHECK(found == std::vector<Part>{{4, 8}});
}

}  // namespace
}  // namespace ds
