// SampleFile: reads the header and checks every tensor of it.
#include "engine/data/sample_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "engine/base/text_error.h"
#include "engine/safetensors/safetensors.h"

namespace ds {
namespace {

std::string_view name_of_field(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

bool is_of_encoder(Field field) { return name_of_field(field).starts_with("encoder_"); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

/// Reads one file; errors name it.
class Opener {
 public:
  explicit Opener(const MappedFile& file) : file_(file) {}

  [[nodiscard]] Error refuse(std::string_view why, std::string hint) const {
    return {ErrorKind::config, fmt::format("data file {}: {}", file_.path(), why), std::move(hint)};
  }

  /// Returns the tensors; their bytes are counted from the end of the header, at `data`.
  std::vector<SafetensorsTensor> tensors(std::int64_t& data) const {
    try {
      const SafetensorsParts parts = split_safetensors(file_.bytes());
      data = parts.data;
      return parse_safetensors_tensors(parts.header, std::ssize(file_.bytes()) - data);
    } catch (const Error& error) {
      throw refuse(error.what(),
                   "data.format = \"samples\" reads safetensors files (docs/data.md)");
    }
  }

  [[nodiscard]] Field field_of(const SafetensorsTensor& tensor) const {
    const auto* const found = std::ranges::find(kFieldNames, tensor.name);
    if (found != kFieldNames.end()) return static_cast<Field>(found - kFieldNames.begin());
    const std::string near = nearest_word(tensor.name, kFieldNames);
    throw refuse(fmt::format("\"{}\" is not a field of samples{}", printable_text(tensor.name, 100),
                             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)),
                 fmt::format("the fields are {}", fmt::join(kFieldNames, ", ")));
  }

  [[nodiscard]] FieldRow row_of(const SafetensorsTensor& tensor, std::int64_t data) const {
    const std::optional<WholeType> type = whole_type(tensor.type);
    if (!type)
      throw refuse(fmt::format("{} has the type {}", tensor.name, printable_text(tensor.type, 20)),
                   "save whole numbers: I32, I64, U32, U16 or U8");
    if (tensor.shape.size() != 2 || tensor.shape[0] == 0 || tensor.shape[1] == 0)
      throw refuse(fmt::format("{} has the shape {}", tensor.name, shape_text(tensor.shape)),
                   "a field has two axes: samples, and tokens of a sample");
    const auto* const bytes = reinterpret_cast<const std::byte*>(file_.bytes().data());
    return {bytes + data + tensor.from, *type, tensor.shape[1]};
  }

 private:
  const MappedFile& file_;
};

}  // namespace

SampleFile::SampleFile(const std::string& path, std::int64_t seq_len)
    : file_(std::make_shared<const MappedFile>(path)) {
  const Opener open(*file_);
  std::int64_t data = 0;
  std::array<std::int64_t, kFields> rows{};
  for (const SafetensorsTensor& tensor : open.tensors(data)) {
    const auto field = static_cast<std::size_t>(open.field_of(tensor));
    all_.fields[field] = open.row_of(tensor, data);
    rows[field] = tensor.shape[0];
  }
  if (!has(Field::tokens) && !(has(Field::targets) && has(Field::encoder_tokens)))
    throw open.refuse("it has no tensor \"tokens\"",
                      "tokens (N, T) are required, but beside targets and encoder_tokens");
  rows_ = rows[static_cast<std::size_t>(has(Field::tokens) ? Field::tokens : Field::targets)];
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    if (!has(field)) continue;
    const std::int64_t length = all_[field].count;
    const std::int64_t wanted = is_of_encoder(field) ? encoder_len() : seq_len;
    if (wanted == 0)
      throw open.refuse("it has encoder_documents without encoder_tokens",
                        "add encoder_tokens, or leave encoder_documents out");
    if (length != wanted)
      throw open.refuse(
          fmt::format("{} has {} tokens in a sample, but {} = {}", kFieldNames[i], length,
                      is_of_encoder(field) ? "encoder_tokens" : "data.seq_len", wanted),
          is_of_encoder(field) ? std::string("both fields of the encoder have one length")
                               : fmt::format("set data.seq_len={}, or cut the samples", length));
    if (rows[i] != rows_)
      throw open.refuse(fmt::format("{} has {} samples, but {} has {}", kFieldNames[i], rows[i],
                                    has(Field::tokens) ? "tokens" : "targets", rows_),
                        "all fields have a row for each sample");
  }
}

std::int64_t SampleFile::encoder_len() const { return all_[Field::encoder_tokens].count; }

SampleRow SampleFile::row(std::int64_t index) const {
  DS_ASSERT(index >= 0 && index < rows_);
  SampleRow row = all_;
  for (FieldRow& field : row.fields)
    if (field) field.data += index * field.count * size_of(field.type);
  return row;
}

std::string SampleFile::field_names() const {
  std::string text;
  for (std::size_t i = 0; i < kFields; ++i) {
    if (!has(static_cast<Field>(i))) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", kFieldNames[i]);
  }
  return text;
}

std::pair<std::int64_t, std::int64_t> SampleFile::bytes_of(Field field, std::int64_t begin,
                                                           std::int64_t end) const {
  const FieldRow& row = all_[field];
  const std::int64_t each = row.count * size_of(row.type);
  const std::int64_t at = row.data - reinterpret_cast<const std::byte*>(file_->bytes().data());
  return {at + begin * each, at + end * each};
}

}  // namespace ds
