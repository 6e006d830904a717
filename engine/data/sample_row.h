// SampleRow: the fields of one sample as a file holds them, and what a model reads of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/data/whole_numbers.h"
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

using FieldRow = WholeNumbers;

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
