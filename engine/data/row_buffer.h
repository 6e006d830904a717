// RowBuffer: one row that is put together from tokens of several documents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/sample_row.h"
#include "engine/data/token_file.h"

namespace ds {

/// What a model learns of a document.
enum class Task : std::uint8_t {
  next_token,  // each token predicts the next one
  masked,      // some tokens are hidden and predicted
  pairs,       // the encoder reads the first sequence, the decoder predicts the second
  spans        // the encoder reads a text without some spans, the decoder predicts these
};

class RowBuffer {
 public:
  /// `length`: tokens of a row; `encoder_length`: of the encoder's sequence, 0 without one.
  RowBuffer(Task task, std::int64_t length, std::int64_t encoder_length);

  /// Makes the whole row padding.
  void clear();
  /// Begins the next document of the row.
  void begin_document() { ++document_; }
  /// Appends tokens [begin, begin + count) of a file to the document. next_token: each is also the
  /// target of the token before it in the document, if `is_trained`. Tokens that do not fit are
  /// targets alone, or left out.
  void append(const TokenFile& file, std::int64_t begin, std::int64_t count, bool is_trained);
  /// Makes column `used` and those behind it padding; the targets before it stay.
  void cut_to(std::int64_t used);
  /// Appends the document's tokens that the encoder reads, and pairs, spans: that are predicted.
  void append_source(const TokenFile& file, std::int64_t begin, std::int64_t count);
  void append_source(std::int32_t token);
  void append_target(const TokenFile& file, std::int64_t begin, std::int64_t count);
  void append_target(std::int32_t token);

  [[nodiscard]] std::int64_t used() const { return used_; }
  /// Returns the number of the current document in the row.
  [[nodiscard]] std::int32_t document() const { return document_; }
  [[nodiscard]] std::span<std::int32_t> tokens() { return tokens_; }
  [[nodiscard]] std::span<std::int32_t> targets() { return targets_; }
  /// Returns the fields, which lie in the buffer. `apart`: documents do not see each other.
  [[nodiscard]] SampleRow row(bool apart) const;

 private:
  Task task_;
  std::vector<std::int32_t> tokens_, targets_, documents_, encoder_tokens_, encoder_documents_;
  std::int64_t used_ = 0, encoder_used_ = 0;
  std::int32_t document_ = -1;
};

}  // namespace ds
