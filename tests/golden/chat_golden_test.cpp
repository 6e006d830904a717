// Tests written conversations, their tokens and the trained ones against transformers and TRL
// (fixtures/chat, made by make_chat_fixture.py).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "engine/chat/chat_tokens.h"
#include "engine/chat/recognize.h"

namespace ds::golden {
namespace {

using Json = nlohmann::json;
const std::string kFolder = std::string(DS_FIXTURES) + "/chat/";

const Json& fixture() {
  static const Json kFixture = [] {
    std::ifstream file(kFolder + "chat.json");
    REQUIRE(file.is_open());
    return Json::parse(file);
  }();
  return kFixture;
}

const Tokenizer& tokenizer_named(const std::string& name) {
  static std::map<std::string, Tokenizer> kOpened;
  const auto found = kOpened.find(name);
  if (found != kOpened.end()) return found->second;
  return kOpened.emplace(name, Tokenizer::open(kFolder + name + ".json")).first->second;
}

std::vector<ChatMessage> messages_of(const Json& row) {
  std::vector<ChatMessage> messages;
  for (const Json& message : fixture()["conversations"][row["conversation"].get<std::size_t>()])
    messages.push_back({message[0], message[1]});
  return messages;
}

std::vector<ChatPiece> pieces_of(const Json& row) {
  std::vector<ChatPiece> pieces;
  for (const Json& piece : row["pieces"]) pieces.push_back({piece[0], piece[1]});
  return pieces;
}

/// Runs begin with tokens that are not trained.
std::vector<bool> flags_of(const Json& runs) {
  std::vector<bool> flags;
  bool trained = false;
  for (const Json& length : runs) {
    flags.insert(flags.end(), length.get<std::size_t>(), trained);
    trained = !trained;
  }
  return flags;
}

TEST_CASE("conversations are written as transformers writes them") {
  std::set<std::string> names;
  std::size_t refused = 0;
  for (const Json& row : fixture()["rows"]) {
    const auto name = row["template"].get<std::string>();
    CAPTURE(name);
    CAPTURE(row["conversation"].get<int>());
    const ChatTemplate* const chat = chat_template_named(name);
    REQUIRE(chat != nullptr);
    names.insert(name);
    const auto messages = messages_of(row);
    if (row["pieces"].is_null()) {
      CHECK_THROWS_AS(render_chat(*chat, messages, false), Error);
      ++refused;
      continue;
    }
    const auto pieces = render_chat(*chat, messages, false);
    CHECK(text_of(pieces) == text_of(pieces_of(row)));
    CHECK((pieces == pieces_of(row)));
    const std::string asked = text_of(render_chat(*chat, messages, true));
    CHECK(asked == text_of(pieces) + row["prompt"].get<std::string>());
    const ChatTokens tokens = tokens_of(pieces, tokenizer_named(row["tokenizer"]));
    CHECK(tokens.tokens == row["tokens"].get<std::vector<std::int32_t>>());
    CHECK((tokens.trained == flags_of(row["runs"])));
  }
  const auto all = chat_template_names();
  CHECK(names == std::set<std::string>(all.begin(), all.end()));
  CHECK(refused > 10);
}

TEST_CASE("a folder with a known text") {
  const auto folder = std::filesystem::temp_directory_path() / "ds_golden_chat";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kFolder + "alpaca.jinja", folder / "chat_template.jinja",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "tokenizer_config.json") << R"({"bos_token": null, "eos_token": "<e>"})";
  const auto chat = recognize_chat_template(folder);
  REQUIRE(chat.has_value());
  CHECK(chat->name == "alpaca");
  CHECK(chat->bos.empty());
  CHECK(chat->eos == "<e>");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ds::golden
