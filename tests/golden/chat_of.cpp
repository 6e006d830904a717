// Prints conversations for make_chat_fixture.py: chat_of FOLDER reads a conversation as JSON from
// each line, [[[role, content], ...], add_generation_prompt], and writes it with the folder's
// template and tokens. chat_of hash prints the hash of a Jinja text from standard input.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/chat/chat_tokens.h"
#include "engine/chat/recognize.h"

namespace {

using Json = nlohmann::json;

Json row_of(const ds::ChatTemplate& chat, const ds::Tokenizer& tokenizer, const Json& given) {
  std::vector<ds::ChatMessage> messages;
  for (const Json& message : given[0]) messages.push_back({message[0], message[1]});
  try {
    const auto pieces = ds::render_chat(chat, messages, given[1]);
    const ds::ChatTokens tokens = ds::tokens_of(pieces, tokenizer);
    return {ds::text_of(pieces), tokens.tokens, tokens.trained};
  } catch (const ds::Error& error) {
    return error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    if (std::string(argv[1]) == "hash") {
      fmt::print("{}\n",
                 ds::hash_of_jinja(std::string{std::istreambuf_iterator<char>(std::cin), {}}));
      return 0;
    }
    const auto chat = ds::recognize_chat_template(argv[1]);
    if (!chat) return 65;
    const ds::Tokenizer tokenizer = ds::Tokenizer::open(argv[1]);
    fmt::print("{}\n", chat->name);
    for (std::string line; std::getline(std::cin, line);)
      fmt::print("{}\n", row_of(*chat, tokenizer, Json::parse(line)).dump());
  } catch (const ds::Error& error) {
    fmt::print(stderr, "{}\n", error.for_people());
    return 65;
  }
  return 0;
}
