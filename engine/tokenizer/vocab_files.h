// Reads vocab.json with merges.txt, and vocab.txt, to the members of a tokenizer.json.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/tokenizer/folder_files.h"

namespace ds {

/// Returns {"vocab": {...}, "merges": [[left, right], ...]} of vocab.json and merges.txt. Errors:
/// Error{config} naming file and line: one of them is missing or damaged, or a merge needs a token
/// that the vocabulary does not have.
nlohmann::json read_bpe_files(FolderFiles& files);

/// Returns {"token": number, ...} of a file with one token a line (`name`: "vocab.txt"). Errors:
/// Error{config} naming file and line: it cannot be read, is not UTF-8, or has a token twice.
nlohmann::json read_token_lines(FolderFiles& files, const std::string& name);

}  // namespace ds
