// PackedPart: counts the rows of all chunks, and puts one row together again when it is read.
#include "engine/data/packed_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/data/sampler.h"

namespace ds {
namespace {

constexpr std::int64_t kRowsOfChunk = 64;

/// Returns the documents of a chunk: few, because a chunk is packed for each row that is read, and
/// enough that its last, half empty row does not matter.
std::int64_t documents_of_chunk(const TokenStream& stream, const RowShape& shape) {
  if (stream.documents() == 0) return 1;
  const std::int64_t mean = std::max<std::int64_t>(1, stream.size() / stream.documents());
  const std::int64_t row = shape.length + shape.encoder_length;
  return std::clamp<std::int64_t>(kRowsOfChunk * row / mean, 1, 1 << 14);
}

}  // namespace

PackedPart::PackedPart(TokenStream stream, const RowShape& shape, std::optional<MaskRule> mask)
    : stream_(std::move(stream)),
      shape_(shape),
      mask_(std::move(mask)),
      chunk_(documents_of_chunk(stream_, shape)),
      packer_(stream_, shape),
      buffer_(shape.task, shape.length, shape.encoder_length) {
  count_rows();
}

void PackedPart::count_rows() {
  const std::int64_t chunks = (stream_.documents() + chunk_ - 1) / chunk_;
  first_rows_.assign(static_cast<std::size_t>(chunks) + 1, 0);
  const std::int64_t workers =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, chunks / 16 + 1);
  std::vector<DocumentPacker> packers(static_cast<std::size_t>(workers), packer_);
  std::vector<std::exception_ptr> errors(packers.size());
  std::atomic<std::int64_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t w = 0; w < packers.size(); ++w)
      threads.emplace_back([&, w] {
        try {
          for (std::int64_t chunk = next++; chunk < chunks; chunk = next++)
            first_rows_[static_cast<std::size_t>(chunk) + 1] = packers[w].pack(
                chunk * chunk_, std::min((chunk + 1) * chunk_, stream_.documents()));
        } catch (...) {
          errors[w] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (std::size_t i = 1; i < first_rows_.size(); ++i) first_rows_[i] += first_rows_[i - 1];
  std::size_t most = 0;
  for (const DocumentPacker& packer : packers) {
    counts_.add(packer.counts());
    most = std::max(most, packer.most_pieces());
  }
  packer_.reserve(most);
}

std::string PackedPart::size_text() const {
  const double columns = static_cast<double>(size()) * static_cast<double>(shape_.length);
  return fmt::format("{} of {}, {:.1f} % filled", counted(size(), "row"),
                     counted(stream_.documents(), "document"),
                     size() == 0 ? 0.0 : 100.0 * static_cast<double>(counts_.used) / columns);
}

std::string PackedPart::note() const {
  std::string text;
  const auto say = [&](std::int64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count, what);
  };
  say(counts_.split, "longer than a row were split");
  say(counts_.cut, "longer than a row were cut");
  say(counts_.dropped, "longer than a row were dropped");
  say(counts_.without_targets, "have nothing to learn");
  if (counts_.without_targets > 0)
    text += fmt::format(", the first is {}", stream_.place_of_document(counts_.first_without));
  return text;
}

std::int64_t PackedPart::place_of(std::int64_t sample, std::uint64_t seed) const {
  return Sampler::of_rows(size(), seed).offset(sample);
}

std::int64_t PackedPart::validation_place(std::int64_t index, std::int64_t count) const {
  return validation_offset(size(), 0, index, count);
}

std::int64_t PackedPart::pack_chunk_of(std::int64_t row) const {
  DS_ASSERT(row >= 0 && row < size());
  const auto after = std::ranges::upper_bound(first_rows_, row);
  const std::int64_t chunk = after - first_rows_.begin() - 1;
  packer_.pack(chunk * chunk_, std::min((chunk + 1) * chunk_, stream_.documents()));
  return row - *std::prev(after);
}

void PackedPart::will_need(SamplePlace sample) const {
  const std::int64_t first =
      (std::ranges::upper_bound(first_rows_, sample.place) - first_rows_.begin() - 1) * chunk_;
  const std::int64_t last = std::min(first + chunk_, stream_.documents()) - 1;
  const StreamDocument begin = stream_.document(first), end = stream_.document(last);
  // Which documents the row has is known after packing; a chunk is about as long as 64 rows. Of one
  // that is a long document by itself, and of one in two files, row() waits for what it reads.
  constexpr std::int64_t kMost = 1 << 19;
  if (begin.file != end.file || end.end - begin.begin > kMost) return;
  const WholeNumbers& tokens = begin.file->tokens();
  const std::int64_t size = size_of(tokens.type);
  ds::will_need(tokens.data + begin.begin * size, (end.end - begin.begin) * size);
}

SampleRow PackedPart::row(SamplePlace sample) const {
  const std::int64_t wanted = pack_chunk_of(sample.place);
  buffer_.clear();
  for (const PackedPiece& piece : packer_.pieces())
    if (piece.row == wanted) packer_.append(piece, sample.number, buffer_);
  if (mask_) hide_tokens(*mask_, sample.number, buffer_);
  return buffer_.row(true);
}

std::string PackedPart::describe(SamplePlace sample, const RowError& error) const {
  const std::int64_t wanted = pack_chunk_of(sample.place);
  std::int64_t end = 0;
  for (const PackedPiece& piece : packer_.pieces()) {
    if (piece.row != wanted) continue;
    end += error.field == Field::encoder_tokens ? piece.encoder_columns : piece.columns;
    if (error.column < end) return stream_.place_of_document(piece.document);
  }
  return fmt::format("row {}", sample.place);
}

}  // namespace ds
