// The formats of data.format whose documents are texts, and the format that a file's name says.
#pragma once

#include <optional>
#include <string_view>

#include "engine/config/train_config.h"

namespace ds {

/// Returns whether the data are documents whose texts are fields with names.
inline bool has_named_texts(const DataConfig& data) {
  return data.format == "jsonl" || data.format == "parquet";
}

/// Returns whether the data are texts, of which tokens are made.
inline bool has_texts(const DataConfig& data) {
  return data.format == "text" || has_named_texts(data);
}

/// Returns the data.format that the ending of a name says, also with .gz or .zst behind it; nothing
/// for an ending that says none.
std::optional<std::string_view> format_of_ending(std::string_view path);

}  // namespace ds
