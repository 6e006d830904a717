// SpecialTokens: the added tokens that a folder's tokenizer_config.json, special_tokens_map.json
// and added_tokens.json give a tokenizer, by the rules of transformers 5.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/tokenizer/folder_files.h"

namespace ds {

class SpecialTokens {
 public:
  using Json = nlohmann::json;
  /// Names such as "cls_token", and the texts that the tokenizer's class gives them.
  using Defaults = std::vector<std::pair<const char*, const char*>>;

  /// `config`: tokenizer_config.json. Reads the other two files. Errors: Error{config} naming the
  /// file: it is not JSON, or has something else where a token should be.
  SpecialTokens(FolderFiles& files, Json config, const Defaults& defaults);

  /// Sets further tokens, texts or objects as in "added_tokens", unless the files list others.
  void set_extra(std::vector<Json> tokens);

  /// Returns the list "added_tokens" of a tokenizer.json. `vocab`: the numbers of the model's
  /// tokens; tokens that it lacks get the numbers behind it. `are_plain`: special tokens take no
  /// white space with them, whatever the files say.
  [[nodiscard]] Json numbered(const Json& vocab, bool are_plain = false);
  /// Returns the text of a named token; empty if there is none.
  [[nodiscard]] std::string text(const char* name) const;
  /// Returns a token's number once numbered() has given it; -1 if it is in no list.
  [[nodiscard]] std::int64_t number(const std::string& text) const;

 private:
  void merge_special_tokens_map(FolderFiles& files, Json& config);
  void read_added_tokens(FolderFiles& files, const Json& config);
  void read_named(const Json& config, const Defaults& defaults);
  [[nodiscard]] Json finished(const Json& token) const;
  [[nodiscard]] bool is_named(const std::string& content) const;
  [[nodiscard]] bool is_special(const std::string& content) const;

  std::string place_;
  std::map<std::int64_t, Json> listed_{};              // by the number in the file
  std::vector<std::pair<std::string, Json>> named_{};  // in the order in which they are added
  std::vector<Json> extra_{};
  bool has_extra_ = false;
  std::map<std::string, std::int64_t> numbers_{};
};

}  // namespace ds
