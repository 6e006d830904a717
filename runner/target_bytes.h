// TargetBytes: the bytes of text that the counted targets of rows stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/tensor/batch_input.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {

class TargetBytes {
 public:
  /// `tokenizer`: null where every token is a byte.
  explicit TargetBytes(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  /// Adds those of a micro-batch of `sequences` rows. Special tokens have none. Where a row ends
  /// within a character, the count may be wrong by its bytes.
  void add(std::span<const BatchInput> inputs, std::int64_t sequences);
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::int64_t of_run(std::int32_t before, std::span<const std::int32_t> run) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t bytes_ = 0;
};

}  // namespace ds
