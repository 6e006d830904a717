// The formats of data.format whose documents are texts.
#pragma once

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

}  // namespace ds
