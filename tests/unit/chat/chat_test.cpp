// Tests what the golden fixture does not: errors of conversations, templates of one's own, dates,
// and tokens that go across the border of two pieces.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/chat/chat_text.h"
#include "engine/chat/chat_tokens.h"

namespace ds {
namespace {

using Json = nlohmann::json;
using Messages = std::vector<ChatMessage>;

const ChatTemplate& named(std::string_view name) {
  const ChatTemplate* const chat = chat_template_named(name);
  REQUIRE(chat != nullptr);
  return *chat;
}

std::string error_of(std::string_view name, const Messages& messages) {
  try {
    static_cast<void>(render_chat(named(name), messages, false));
    return "no error";
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
}

TEST_CASE("names are unique, and every template has an end token") {
  const auto names = chat_template_names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) {
    const ChatTemplate& chat = named(name);
    CHECK_FALSE(filled(chat, chat.end_token).empty());
    CHECK(filled(chat, chat.assistant.suffix).find(filled(chat, chat.end_token)) !=
          std::string::npos);
  }
  CHECK(chat_template_named("none") == nullptr);
}

TEST_CASE("messages that cannot be written") {
  CHECK(error_of("chatml", {}) == "chat template chatml: no messages");
  CHECK(error_of("chatml", {{"user", "x"}, {"tool", "y"}}) ==
        "chat template chatml: message 2: the role \"tool\" is not supported");
  CHECK(error_of("qwen3", {{"User", "x"}}) ==
        "chat template qwen3: message 1: unknown role \"User\"");
  CHECK(error_of("mistral-v0.2-2023", {{"system", "s"}, {"user", "x"}}) ==
        "chat template mistral-v0.2-2023: message 1: this template has no system message");
  CHECK(error_of("llama2", {{"system", "s"}}).find("there is none") != std::string::npos);
  CHECK(error_of("llama2", {{"system", "s"}, {"user", "x"}, {"user", "y"}}) ==
        "chat template llama2: message 3: has the role \"user\" where \"assistant\" must be");
  CHECK(error_of("mistral-v1", {{"assistant", "x"}}) ==
        "chat template mistral-v1: message 1: has the role \"assistant\" where \"user\" must be");
  // Llama 2's text passes over this system message.
  CHECK(error_of("llama2", {{"user", "x"}, {"system", "s"}, {"user", "y"}}).find("message 2") !=
        std::string::npos);
}

TEST_CASE("a template of one's own") {
  ChatTemplate chat;
  chat.system = {"S:", "\n"};
  chat.user = {"U:", "\n"};
  chat.assistant = {"A:", "{eos}\n"};
  chat.eos = "<e>";
  const Messages messages = {{"system", "s"}, {"user", " u {eos}"}, {"assistant", "a"}};
  const std::vector<ChatPiece> wanted = {
      {"S:s\nU: u {eos}\nA:", false}, {"a<e>\n", true}, {"A:", false}};
  CHECK((render_chat(chat, messages, true) == wanted));
}

TEST_CASE("the date of Llama 3.1 can be set") {
  ChatTemplate chat = named("llama3.1");
  const Messages messages = {{"user", "x"}};
  CHECK(text_of(render_chat(chat, messages, false)).find("Today Date: 26 Jul 2024\n\n<|eot_id|>") !=
        std::string::npos);
  chat.date = "01 Jan 2026";
  CHECK(text_of(render_chat(chat, messages, false)).find("Today Date: 01 Jan 2026\n\n<|eot_id|>") !=
        std::string::npos);
}

TEST_CASE("white space at the ends is that of Python") {
  CHECK(trimmed(" \t\x1c\u0085\u00a0\u2003x y\u3000\n").compare("x y") == 0);
  CHECK(trimmed(" \n").empty());
  CHECK(trimmed("\u200bx") == "\u200bx");  // a format character
}

/// Tokens a, b, ab and <e>, and U+00E9 composed by the normalizer.
Json parts() {
  return {
      {"model",
       {{"type", "BPE"},
        {"unk_token", "?"},
        {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"<e>", 3}, {"?", 4}, {"\u00e9", 5}, {"c", 6}}},
        {"merges", {"a b"}}}},
      {"normalizer", {{"type", "NFC"}}},
      {"added_tokens", {{{"id", 3}, {"content", "<e>"}, {"special", true}}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", "<e>"}}}}, {{"Sequence", {{"id", "A"}}}}}},
        {"special_tokens", {{"<e>", {{"ids", {3}}}}}}}}};
}

Tokenizer opened(const Json& json) { return {json.dump(), "tokenizer.json"}; }
Tokenizer tokenizer() { return opened(parts()); }

/// Returns "number" for each token, with a star where it is trained.
std::string tokens_in(const std::vector<ChatPiece>& pieces) {
  const ChatTokens found = tokens_of(pieces, tokenizer());
  CHECK(found.tokens == tokenizer().encode(text_of(pieces), false));
  std::string all;
  for (std::size_t i = 0; i < found.tokens.size(); ++i)
    all += fmt::format("{}{} ", found.tokens[i], found.trained[i] ? "*" : "");
  return all;
}

TEST_CASE("tokens are those of the whole text, without a begin token of the post-processor") {
  CHECK(tokens_in({}).empty());
  CHECK(tokens_in({{"b", false}, {"a", true}}) == "1 0* ");
  CHECK(tokens_in({{"<e>b", false}, {"a<e>", true}, {"a", false}}) == "3 1 0* 3* 0 ");
  // "ab" goes across the border, at the begin and at the end of the trained piece.
  CHECK(tokens_in({{"ba", false}, {"ba", true}}) == "1 2* 0* ");
  CHECK(tokens_in({{"ba", true}, {"bb", false}}) == "1* 2* 1 ");
  CHECK(tokens_in({{"a", false}, {"b", true}, {"c", false}}) == "2* 6 ");
  CHECK(tokens_in({{"<", false}, {"e", true}, {">a", false}}) == "3* 0 ");
}

TEST_CASE("a normalizer that strips white space") {
  Json json = parts();
  json["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  const std::vector<ChatPiece> pieces = {{" b ", false}, {"a ", true}};
  const ChatTokens found = tokens_of(pieces, opened(json));
  CHECK(found.tokens == std::vector<std::int32_t>{1, 4, 0});  // "b a"
  CHECK((found.trained == std::vector<bool>{false, false, true}));
}

TEST_CASE("the token that ends an answer") {
  ChatTemplate chat;
  CHECK(end_token_of(chat, tokenizer()) == std::nullopt);
  chat.end_token = "{eos}";
  chat.eos = "<e>";
  CHECK(end_token_of(chat, tokenizer()) == 3);
  chat.eos = "<other>";
  CHECK(end_token_of(chat, tokenizer()) == std::nullopt);
}

TEST_CASE("borders where the words of the whole text differ, or have unknown characters") {
  // The accent is composed with the letter before the border.
  CHECK(tokens_in({{"be", false}, {"\u0301c", true}}) == "1 5* 6* ");
  CHECK(tokens_in({{"bx", false}, {"c", true}}) == "1 4 6* ");
  CHECK(tokens_in({{"c", true}, {"xb", false}}) == "6* 4 1 ");
  // Between two unknown characters both tokens count as trained: their places are not known.
  CHECK(tokens_in({{"bx", false}, {"yc", true}}) == "1 4* 4* 6* ");
}

}  // namespace
}  // namespace ds
