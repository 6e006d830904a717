// Tests which template a folder has: files, tokens, unknown and damaged texts.
#include "engine/chat/recognize.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "engine/chat/known_texts.h"

namespace ds {
namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "ds_unit_chat") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string error() const {
    try {
      return recognize_chat_template(path_) ? "recognized" : "no template";
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::config);
      return error.for_people();
    }
  }

 private:
  std::filesystem::path path_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("known texts have names of the table, and each hash once") {
  std::set<std::string_view> hashes;
  for (const KnownChatText& known : known_chat_texts()) {
    CHECK(known.hash.size() == 32);
    CHECK(hashes.insert(known.hash).second);
    CHECK(chat_template_named(known.name) != nullptr);
  }
  CHECK(hashes.size() > 15);
}

TEST_CASE("a hash leaves out what Jinja does not read") {
  CHECK(hash_of_jinja("a\nb") == hash_of_jinja("a\r\nb\n"));
  CHECK(hash_of_jinja("a\nb") != hash_of_jinja("a\nb\n\n"));
  CHECK(hash_of_jinja("a b") != hash_of_jinja("a  b"));
  CHECK(hash_of_jinja("a b") != hash_of_jinja(" a b"));
}

TEST_CASE("folders without a template") {
  const Folder folder;
  CHECK(folder.error() == "no template");
  folder.write("tokenizer_config.json", R"({"chat_template": null})");
  CHECK(folder.error() == "no template");
}

TEST_CASE("an unknown text is refused with the names and a likely one") {
  const Folder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": "x <|im_start|> y"})");
  const std::string error = folder.error();
  CHECK(has(error, "tokenizer_config.json: unknown chat template (hash "));
  CHECK(has(error, "it looks like chatml"));
  CHECK(has(error, "names: chatml, smollm2, "));
  folder.write("chat_template.jinja", "[INST]");  // goes first
  CHECK(has(folder.error(), "chat_template.jinja: unknown"));
  CHECK(has(folder.error(), "looks like mistral-v1"));
  folder.write("chat_template.jinja", "hello");
  CHECK_FALSE(has(folder.error(), "looks like"));
}

TEST_CASE("a list of templates has a default") {
  const Folder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "tool_use", "template": "t"},
                                     {"name": "default", "template": "<<SYS>>"}]})");
  CHECK(has(folder.error(), "looks like llama2"));
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "t"}]})");
  CHECK(has(folder.error(), "no \"default\""));
  folder.write("tokenizer_config.json", R"({"chat_template": 5})");
  CHECK(has(folder.error(), "has no text"));
}

TEST_CASE("damaged files") {
  const Folder folder;
  folder.write("tokenizer_config.json", "{");
  CHECK(has(folder.error(), "is not a JSON object"));
}

TEST_CASE("tokens of a folder") {
  const Folder folder;
  ChatTemplate zephyr = *chat_template_named("zephyr");
  folder.write("tokenizer_config.json", R"({"eos_token": null})");
  CHECK_THROWS_WITH_AS(use_tokens_of_folder(zephyr, folder.path()),
                       (folder.path() + ": the chat template zephyr ends answers with the end "
                                        "token, and tokenizer_config.json has no \"eos_token\"")
                           .c_str(),
                       Error);
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "<|end|>"}})");
  use_tokens_of_folder(zephyr, folder.path());
  CHECK(zephyr.eos == "<|end|>");
  ChatTemplate llama3 = *chat_template_named("llama3");
  use_tokens_of_folder(llama3, folder.path());
  CHECK(llama3.bos.empty());  // it has none
  folder.write("special_tokens_map.json", R"({"bos_token": "<b>"})");
  use_tokens_of_folder(llama3, folder.path());
  CHECK(llama3.bos == "<b>");
  ChatTemplate chat_ml = *chat_template_named("chatml");
  use_tokens_of_folder(chat_ml, folder.path());
  CHECK(filled(chat_ml, chat_ml.end_token) == "<|im_end|>");
}

}  // namespace
}  // namespace ds
