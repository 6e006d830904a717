#include "engine/chat/recognize.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/chat/known_texts.h"

namespace ds {
namespace {

using Json = nlohmann::json;

/// Returns a file's text; nothing if there is no such file.
std::optional<std::string> text_in(const std::string& path) {
  constexpr std::uintmax_t kMost = 256 << 20;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (size > kMost || !file.is_open())
    throw Error(ErrorKind::config, path + ": cannot be read", "copy the file again");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

/// Returns the object in a folder's file; an empty one if there is no such file.
Json object_in(const std::string& path) {
  const auto text = text_in(path);
  if (!text) return Json::object();
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw Error(ErrorKind::config, path + ": is not a JSON object", "copy the file again");
  return json;
}

/// Returns the Jinja text and the file that holds it; an empty text if there is none.
std::pair<std::string, std::string> jinja_of(const std::string& folder) {
  const std::string alone = folder + "/chat_template.jinja";
  if (const auto text = text_in(alone)) return {*text, alone};
  const std::string config = folder + "/tokenizer_config.json";
  const Json json = object_in(config);
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return {"", config};
  if (found->is_string()) return {found->get<std::string>(), config};
  // A list of templates with names; transformers takes "default".
  if (found->is_array())
    for (const Json& each : *found)
      if (each.is_object() && each.value("name", Json()) == "default" &&
          each.value("template", Json()).is_string())
        return {each["template"].get<std::string>(), config};
  throw Error(ErrorKind::config, config + ": \"chat_template\" has no text and no \"default\"",
              "choose a chat template by its name: " +
                  fmt::format("{}", fmt::join(chat_template_names(), ", ")));
}

/// Returns a token's text, which is a string or an object with "content".
std::optional<std::string> token_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->value("content", Json()).is_string())
    return (*found)["content"].get<std::string>();
  return std::nullopt;
}

bool writes(const ChatTemplate& chat, std::string_view mark) {
  const std::string prompt = chat.prompt.value_or("");
  const std::string* const kTexts[] = {
      &chat.begin,         &chat.system.prefix, &chat.system.suffix,    &chat.user.prefix,
      &chat.user.suffix,   &chat.system_intro,  &chat.assistant.prefix, &chat.assistant.suffix,
      &chat.before_answer, &chat.after_answer,  &chat.end_token,        &prompt};
  return std::ranges::any_of(
      kTexts, [&](const std::string* text) { return text->find(mark) != std::string::npos; });
}

[[noreturn]] void refuse(const std::string& file, const std::string& jinja) {
  std::string hint;
  if (const std::string_view likely = likely_chat_template(jinja); !likely.empty())
    hint = fmt::format("it looks like {}; compare what it writes and choose it by its name, or ",
                       likely);
  hint += fmt::format("describe the template by prefixes and suffixes; names: {}",
                      fmt::join(chat_template_names(), ", "));
  throw Error(ErrorKind::config,
              fmt::format("{}: unknown chat template (hash {})", file, hash_of_jinja(jinja)), hint);
}

}  // namespace

std::string hash_of_jinja(std::string_view text) {
  std::string read;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') read += text[i];
  if (read.ends_with('\n')) read.pop_back();
  const XXH128_hash_t hash = XXH3_128bits(read.data(), read.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::optional<ChatTemplate> recognize_chat_template(const std::string& folder) {
  const auto [jinja, file] = jinja_of(folder);
  if (jinja.empty()) return std::nullopt;
  const auto known = known_chat_texts();
  const auto found = std::ranges::find(known, hash_of_jinja(jinja), &KnownChatText::hash);
  if (found == known.end()) refuse(file, jinja);
  const ChatTemplate* const named = chat_template_named(found->name);
  DS_ASSERT(named != nullptr, "the table of known texts has names of templates only");
  ChatTemplate chat = *named;
  use_tokens_of_folder(chat, folder);
  return chat;
}

void use_tokens_of_folder(ChatTemplate& chat, const std::string& folder) {
  const Json config = object_in(folder + "/tokenizer_config.json");
  const Json map = object_in(folder + "/special_tokens_map.json");
  const auto token = [&](const char* key) {
    return config.contains(key) ? token_in(config, key) : token_in(map, key);
  };
  const auto bos = token("bos_token"), eos = token("eos_token");
  if (writes(chat, "{bos}")) chat.bos = bos.value_or("");
  if (!writes(chat, "{eos}")) return;
  if (!eos)
    throw Error(ErrorKind::config,
                fmt::format("{}: the chat template {} ends answers with the end token, and "
                            "tokenizer_config.json has no \"eos_token\"",
                            folder, chat.name),
                "add \"eos_token\" to tokenizer_config.json");
  chat.eos = *eos;
}

}  // namespace ds
