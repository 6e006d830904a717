// Checks a sample, and derives the inputs of a sample from its fields.
#include "engine/data/sample_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ds {
namespace {

/// The documents of a row; without the field, the whole row is document 0.
class Documents {
 public:
  explicit Documents(const FieldRow& row) : row_(row) {}
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return row_ ? row_[i] : 0; }
  [[nodiscard]] bool is_padding(std::int64_t i) const { return (*this)[i] < 0; }

 private:
  const FieldRow& row_;
};

/// Checks that each document is one stretch of its row.
void check_documents(const FieldRow& row, Field field) {
  std::int64_t largest = -1;
  for (std::int64_t i = 0; row && i < row.count; ++i) {
    const std::int64_t number = row[i];
    if (number < 0 || (i > 0 && row[i - 1] == number)) continue;
    if (number > std::numeric_limits<std::int32_t>::max())
      throw RowError{.field = field,
                     .column = i,
                     .what = fmt::format("document {} does not fit into 32 bits", number),
                     .hint = "number the documents of a row from 0"};
    bool returns = false;  // rising numbers need no search
    for (std::int64_t k = 0; number <= largest && k < i && !returns; ++k)
      returns = row[k] == number;
    if (returns)
      throw RowError{.field = field,
                     .column = i,
                     .what = fmt::format("document {} begins again after another one", number),
                     .hint = "the tokens of a document stand together in their row"};
    largest = std::max(largest, number);
  }
}

[[noreturn]] void out_of_range(Field field, std::int64_t column, std::int64_t number,
                               std::int64_t limit) {
  constexpr std::array<std::string_view, kFields> kOne{
      "token", "target", "document", "position", "token type", "token", "document"};
  throw RowError{.field = field,
                 .column = column,
                 .what = fmt::format("{} {} is out of range (0 to {})",
                                     kOne[static_cast<std::size_t>(field)], number, limit - 1),
                 .hint = field == Field::positions     ? "the model has no such position"
                         : field == Field::token_types ? "the model has no such token type"
                                                       : "check model.vocab"};
}

struct Writer {
  const BatchInput& input;
  Field field;
  std::int32_t* out;
  void put(std::int64_t column, std::int64_t number) const {
    if (number < 0 || number >= input.limit) out_of_range(field, column, number, input.limit);
    out[column] = static_cast<std::int32_t>(number);
  }
};

/// Writes the inputs of a decoder: the targets shifted right, with the token 0 at the beginning of
/// each document, for padding, and in place of missing targets, as in transformers' T5.
void fill_shifted(const SampleRow& row, const Writer& to, std::int64_t count) {
  const FieldRow& targets = row[Field::targets];
  const Documents documents(row[Field::documents]);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool begins = i == 0 || documents[i] != documents[i - 1];
    const std::int64_t before = begins || documents.is_padding(i) ? 0 : targets[i - 1];
    to.put(i, std::max<std::int64_t>(before, 0));
  }
}

void fill_targets(const SampleRow& row, const Writer& to, std::int64_t count) {
  const FieldRow &tokens = row[Field::tokens], &targets = row[Field::targets];
  const Documents documents(row[Field::documents]);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t target = -1;
    if (targets) {
      target = targets[i];
    } else if (i + 1 < count && !documents.is_padding(i) && documents[i] == documents[i + 1]) {
      target = tokens[i + 1];
    }
    to.out[i] = -1;
    if (target >= 0) to.put(i, target);
  }
}

void fill_positions(const SampleRow& row, const Writer& to, std::int64_t count) {
  const FieldRow& positions = row[Field::positions];
  const Documents documents(row[Field::documents]);
  std::int64_t counted = to.input.first;
  for (std::int64_t i = 0; i < count; ++i, ++counted) {
    const bool begins = i > 0 && documents[i] != documents[i - 1];
    if (begins || documents.is_padding(i)) counted = to.input.first;
    to.put(i, positions && !documents.is_padding(i) ? positions[i] : counted);
  }
}

void fill_documents(const FieldRow& row, std::int64_t count, std::int32_t* out) {
  const Documents documents(row);
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<std::int32_t>(std::max<std::int64_t>(documents[i], -1));
}

void fill_token_types(const SampleRow& row, const Writer& to, std::int64_t count) {
  const FieldRow& types = row[Field::token_types];
  const Documents documents(row[Field::documents]);
  for (std::int64_t i = 0; i < count; ++i)
    to.put(i, types && !documents.is_padding(i) ? types[i] : 0);
}

}  // namespace

void check_row(const SampleRow& row) {
  for (const Field field : {Field::documents, Field::encoder_documents})
    check_documents(row[field], field);
  const FieldRow& targets = row[Field::targets];
  const Documents documents(row[Field::documents]);
  for (std::int64_t i = 0; targets && i < targets.count; ++i) {
    if (targets[i] >= 0 && documents.is_padding(i))
      throw RowError{.field = Field::targets,
                     .column = i,
                     .what = fmt::format("target {} belongs to padding", targets[i]),
                     .hint = "padding has negative targets"};
  }
}

void fill_from_row(const SampleRow& row, const BatchInput& input, std::int64_t count,
                   std::int32_t* out) {
  const auto* const found = std::ranges::find(kFieldNames, input.name);
  DS_ASSERT(found != kFieldNames.end(), "every input of a model is a field of samples");
  const auto field = static_cast<Field>(found - kFieldNames.begin());
  const Writer to{input, field, out};
  switch (field) {
    case Field::targets:
      return fill_targets(row, to, count);
    case Field::positions:
      return fill_positions(row, to, count);
    case Field::token_types:
      return fill_token_types(row, to, count);
    case Field::documents:
    case Field::encoder_documents:
      return fill_documents(row[field], count, out);
    case Field::tokens:
    case Field::encoder_tokens:
      break;
  }
  if (field == Field::tokens && !row[field] && row[Field::targets] && row[Field::encoder_tokens])
    return fill_shifted(row, to, count);
  if (!row[field])
    throw RowError{.field = field,
                   .column = -1,
                   .what = fmt::format("the samples have no {}", input.name),
                   .hint = fmt::format("this model reads {}", input.name)};
  for (std::int64_t i = 0; i < count; ++i) to.put(i, row[field][i]);
}

}  // namespace ds
