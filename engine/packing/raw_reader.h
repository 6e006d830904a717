// read_documents(): the documents of a chunk of files.
#pragma once

#include <functional>
#include <string>

#include "engine/config/train_config.h"
#include "engine/packing/raw_chunk.h"
#include "engine/packing/raw_document.h"

namespace ds {

/// Calls `take` for each document of a chunk, with its place, such as "a.jsonl:17", which costs
/// time. Files with other than UTF-8 are read with U+FFFD, and so are lone surrogates of JSON.
/// Errors: Error{config} "FILE:LINE:COLUMN: why": a line that is no JSON object, a field that is
/// missing or no text; an empty file. Of Parquet: as ParquetFile.
using TakeDocument = std::function<void(RawDocument&, const std::function<std::string()>& place)>;
void read_documents(const RawChunk& chunk, const DataConfig& config, const TakeDocument& take);

}  // namespace ds
