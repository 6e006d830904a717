// SampleRow: the fields of one sample as a file holds them, and what a model reads of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tensor/batch_input.h"

namespace ds {

/// The fields of sample files, in the order of kFieldNames.
enum class Field : std::uint8_t {
  tokens,
  targets,
  documents,
  positions,
  token_types,
  encoder_tokens,
  encoder_documents
};
inline constexpr std::size_t kFields = 7;
inline constexpr std::array<std::string_view, kFields> kFieldNames{
    input::kTokens,     input::kTargets,       input::kDocuments,       input::kPositions,
    input::kTokenTypes, input::kEncoderTokens, input::kEncoderDocuments};

/// The types of whole numbers that a field may have.
enum class WholeType : std::uint8_t { u8, u16, u32, i32, i64 };
/// Returns the type with that name in a safetensors file; nothing for another type.
std::optional<WholeType> whole_type(std::string_view word);
std::int64_t size_of(WholeType type);

/// Whole numbers in a file, at any address.
struct FieldRow {
  const std::byte* data = nullptr;  // null: the file does not have the field
  WholeType type = WholeType::i32;
  std::int64_t count = 0;

  explicit operator bool() const { return data != nullptr; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const;
};

struct SampleRow {
  std::array<FieldRow, kFields> fields{};
  [[nodiscard]] const FieldRow& operator[](Field field) const {
    return fields[static_cast<std::size_t>(field)];
  }
};

/// What is wrong with a sample.
struct RowError {
  Field field = Field::tokens;
  std::int64_t column = 0;
  std::string what{}, hint{};
};

/// Checks the documents of a row and of its encoder, whether or not a program reads them. Errors:
/// RowError: a number in two places of the row, or one that does not fit into 32 bits; a target, or
/// a position of a token that has none.
void check_row(const SampleRow& row);

/// Writes one input of a sample, `count` numbers, to `out`:
/// - tokens, where the row has none, but targets and encoder_tokens: the targets, shifted right
///   from 0 in each document;
/// - targets, where the row has none: the next token of the same document; none at its end;
/// - positions, where the row has none: counted from input.first in each document;
/// - documents, where the row has none: 0; token types likewise;
/// - padding (a negative document): no target, the first position, token type 0.
/// Errors: RowError: a number that is not below input.limit or that is negative; a field that the
/// row does not have.
void fill_from_row(const SampleRow& row, const BatchInput& input, std::int64_t count,
                   std::int32_t* out);

}  // namespace ds
