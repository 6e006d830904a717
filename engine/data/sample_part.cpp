// SamplePart: finds rows, fills batches from them, and says where a wrong number lies.
#include "engine/data/sample_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

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

void SamplePart::fill(std::span<const std::int64_t> places,
                      std::span<const BatchInput> inputs) const {
  for (std::size_t b = 0; b < places.size(); ++b) {
    DS_ASSERT(places[b] >= 0 && places[b] < size_);
    const Piece& piece =
        *std::prev(std::ranges::upper_bound(pieces_, places[b], {}, &Piece::begin));
    const std::int64_t index = piece.first_row + places[b] - piece.begin;
    const SampleRow row = piece.file->row(index);
    try {
      check_row(row);
      for (const BatchInput& input : inputs) {
        if (!input.memory || input.name == input::kSamples) continue;
        const auto each = input.memory.elements() / static_cast<std::int64_t>(places.size());
        auto* const out = static_cast<std::int32_t*>(input.memory.data);
        fill_from_row(row, input, each, out + static_cast<std::int64_t>(b) * each);
      }
    } catch (const RowError& error) {
      const std::string place =
          error.column < 0 ? std::string()
                           : fmt::format(", row {}, column {} of {}", index, error.column,
                                         kFieldNames[static_cast<std::size_t>(error.field)]);
      throw Error(ErrorKind::config,
                  fmt::format("data file {}{}: {}", piece.file->path(), place, error.what),
                  error.hint);
    }
  }
}

}  // namespace ds
