// BatchInput: a field of one micro-batch in memory, and the names of the fields that models read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace ds {

/// Names of a micro-batch's inputs and of the fields of sample files. B: sequences of the
/// micro-batch, T: tokens of a sequence, S: tokens of a sequence of the encoder.
namespace input {
inline constexpr const char* kTokens = "tokens";    // (B*T) i32
inline constexpr const char* kTargets = "targets";  // (B*T) i32; negative: no target
// (B*T) i32; counted from the beginning of each document, unless the data have their own
inline constexpr const char* kPositions = "positions";
// (B*T) i32: the number of the document that a token belongs to; negative: padding
inline constexpr const char* kDocuments = "documents";
inline constexpr const char* kTokenTypes = "token_types";              // (B*T) i32
inline constexpr const char* kEncoderTokens = "encoder_tokens";        // (B*S) i32
inline constexpr const char* kEncoderDocuments = "encoder_documents";  // (B*S) i32
inline constexpr const char* kSamples = "samples";  // (B) i64: sequence numbers; for dropout only
// Of programs without a loss: (ModelShape::logits) i32, rows of the last activation
inline constexpr const char* kLast = "last";
// Of programs that decode (ModelShape::cache), with T tokens of each sequence:
inline constexpr const char* kSlots = "slots";    // (B*T) i32: places in the cache; see CacheKeys
inline constexpr const char* kRanges = "ranges";  // (B, T, 2) i32: places that tokens see
inline constexpr const char* kWindowRanges = "window_ranges";  // the same within a window: limit
inline constexpr const char* kCrossRanges = "cross_ranges";    // (B, T, 2) i32: of encoder tokens
inline constexpr const char* kFirst = "first";  // (1) i32: position of every sequence's first token
}  // namespace input

/// Where an input of one micro-batch lies, in memory that host code writes.
struct BatchInput {
  std::string_view name;
  Tensor memory{};         // without data: the program does not read it
  std::int64_t first = 0;  // positions: that of a document's first token
  std::int64_t limit = 0;  // numbers must be less
};

/// Returns the memory of the input with this name; without data if there is none.
inline Tensor memory_of(std::span<const BatchInput> inputs, std::string_view name) {
  for (const BatchInput& input : inputs)
    if (input.name == name) return input.memory;
  return {};
}

}  // namespace ds
