// FolderTokens: the tokens with a meaning that the files of a Hugging Face folder name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ds {

struct FolderTokens {
  std::vector<std::int32_t> ends{};    // that end a text
  std::int32_t start = 0;              // that starts a text of a model with an encoder
  std::optional<std::int32_t> mask{};  // of a masked LM; nothing if the files do not name it
};

/// Reads them. As in transformers, generation_config.json decides where it exists, then
/// config.json, whose missing keys have defaults by model_type; with an empty `arch` none. The mask
/// is a name in tokenizer_config.json, whose number is in tokenizer.json, vocab.txt or vocab.json.
/// Errors: as companions_of().
FolderTokens folder_tokens(const std::string& folder, const std::string& arch);

}  // namespace ds
