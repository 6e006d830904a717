// converted_tokenizer(): a tokenizer.json made of the files that folders had before it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ds {

struct TokenizerText {
  nlohmann::json json{};  // what tokenizer.json would have
  std::string place{};    // names the file in errors
  std::string hash{};     // FolderFiles::hash() of all files that were read
};

/// Reads what a path names: a folder with tokenizer.json, else with vocab.json and merges.txt, with
/// vocab.txt, spiece.model or tokenizer.model; or one of these files. Makes the same of it as
/// transformers 5. Errors: Error{config}: there is no such file, it is damaged, or the class in
/// tokenizer_config.json is not supported.
TokenizerText read_tokenizer(const std::string& path);

/// Returns whether a folder has one of these files.
bool has_tokenizer(const std::string& folder);

}  // namespace ds
