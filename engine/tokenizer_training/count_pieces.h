// count_pieces(): how often each piece occurs in text files; pieces are what a tokenizer's pattern
// cuts a text into.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct CountedPiece {
  std::string text;  // valid UTF-8
  std::int64_t count = 0;
};

struct TextFiles {
  std::vector<std::string> files;
  std::vector<std::string> fields;  // of lines or rows: each one's text is a document
};

struct CountWork {
  int threads = 1;
  /// Called at times with the bytes of the files that were read, and all bytes; may be empty.
  std::function<void(std::int64_t done, std::int64_t all)> tell{};
};

/// Returns the data.format that a file's name says: jsonl for .jsonl, .ndjson and .json, also with
/// .gz or .zst behind it; parquet; text, one document, for any other name.
std::string_view text_format_of(std::string_view path);

/// Returns the pieces of all documents in byte order: equal for any number of threads. `expression`
/// is the pattern of pieces; what stands between its matches is a piece too. Errors: Error{config}:
/// as chunks_of(), read_documents() and Pattern::find().
std::vector<CountedPiece> count_pieces(const TextFiles& texts, const std::string& expression,
                                       const CountWork& work);

}  // namespace ds
