// RawReader: the documents of a stretch of text files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/chat/render_chat.h"
#include "engine/config/train_config.h"
#include "engine/packing/raw_chunk.h"

namespace ds {

/// A document as it is written.
struct RawDocument {
  std::vector<std::string> texts;     // of the fields that the task reads
  std::vector<ChatMessage> messages;  // of a conversation
};

/// Calls `take` for each document of a chunk, with its place, such as "a.jsonl:17", which costs
/// time. Files with other than UTF-8 are read with U+FFFD, and so are lone surrogates of JSON.
/// Errors: Error{config} "FILE:LINE:COLUMN: why": a line that is no JSON object, a field that is
/// missing or no text; an empty file.
using TakeDocument = std::function<void(RawDocument&, const std::function<std::string()>& place)>;
void read_documents(const RawChunk& chunk, const DataConfig& config, const TakeDocument& take);

}  // namespace ds
