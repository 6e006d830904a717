// SamplePart: finds rows, and says where a wrong number lies.
#include "engine/data/sample_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/data/sampler.h"

namespace ds {

void require_alike(const SampleFile& first, const SampleFile& file) {
  const auto refuse = [&](const std::string& what, const std::string& theirs) {
    return Error(
        ErrorKind::config,
        fmt::format("data file {}: {}, but {} has {}", file.path(), what, first.path(), theirs),
        "all files have the same fields and lengths");
  };
  if (file.field_names() != first.field_names())
    throw refuse("has the fields " + file.field_names(), first.field_names());
  if (file.encoder_len() != first.encoder_len())
    throw refuse(fmt::format("encoder_tokens has {} tokens in a sample", file.encoder_len()),
                 fmt::format("{}", first.encoder_len()));
}

void SamplePart::add(std::shared_ptr<const SampleFile> file, std::int64_t begin, std::int64_t end) {
  DS_ASSERT(begin >= 0 && end <= file->rows());
  if (begin >= end) return;
  if (first_file() != nullptr) require_alike(*first_file(), *file);
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    if (!file->has(field)) continue;
    const auto [from, to] = file->bytes_of(field, begin, end);
    bytes_.add(file->file(), from, to);
  }
  pieces_.push_back({std::move(file), begin, size_});
  size_ += end - begin;
}

std::string SamplePart::size_text() const {
  return fmt::format("{} sample{}", size_, size_ == 1 ? "" : "s");
}

std::string SamplePart::identity() const {
  const std::string fields = pieces_.empty() ? "nothing" : first_file()->field_names();
  return fmt::format("{} of {}, {}", size_text(), fields, bytes_.identity());
}

std::int64_t SamplePart::validation_place(std::int64_t index, std::int64_t count) const {
  return validation_offset(size_, 0, index, count);
}

std::int64_t SamplePart::place_of(std::int64_t sample, std::uint64_t seed) const {
  return Sampler::of_rows(size_, seed).offset(sample);
}

const SamplePart::Piece& SamplePart::piece_at(std::int64_t place) const {
  DS_ASSERT(place >= 0 && place < size_);
  return *std::prev(std::ranges::upper_bound(pieces_, place, {}, &Piece::begin));
}

void SamplePart::will_need(SamplePlace sample) const {
  const Piece& piece = piece_at(sample.place);
  for (const FieldRow& field : piece.file->row(piece.first_row + sample.place - piece.begin).fields)
    if (field) ds::will_need(field.data, field.count * size_of(field.type));
}

SampleRow SamplePart::row(SamplePlace sample) const {
  const Piece& piece = piece_at(sample.place);
  const SampleRow row = piece.file->row(piece.first_row + sample.place - piece.begin);
  check_row(row);
  return row;
}

std::string SamplePart::describe(SamplePlace sample, const RowError& error) const {
  const Piece& piece = piece_at(sample.place);
  if (error.column < 0) return piece.file->path();
  return fmt::format("{}, row {}, column {} of {}", piece.file->path(),
                     piece.first_row + sample.place - piece.begin, error.column,
                     kFieldNames[static_cast<std::size_t>(error.field)]);
}

}  // namespace ds
