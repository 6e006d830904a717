// DocumentPacker: cuts documents into pieces that fit, and chooses their rows.
#include "engine/data/document_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"

namespace ds {
namespace {

/// Calls append(begin, count) for the tokens of a stretch that fit; the last one, an end token, is
/// kept.
template <class Append>
void append_kept(std::int64_t begin, std::int64_t count, std::int64_t room, const Append& append) {
  if (count <= room) return append(begin, count);
  append(begin, room - 1);
  append(begin + count - 1, 1);
}

}  // namespace

void PackCounts::add(const PackCounts& other) {
  split += other.split;
  cut += other.cut;
  dropped += other.dropped;
  without_targets += other.without_targets;
  used += other.used;
  if (first_without < 0 || (other.first_without >= 0 && other.first_without < first_without))
    first_without = other.first_without;
}

DocumentPacker::DocumentPacker(const TokenStream& stream, const RowShape& shape)
    : stream_(stream), shape_(shape), begins_(static_cast<std::size_t>(shape.length) + 1) {}

void DocumentPacker::reserve(std::size_t pieces) {
  pieces_.reserve(pieces);
  order_.reserve(pieces);
  room_.reserve(pieces);
}

std::int64_t DocumentPacker::pack(std::int64_t first, std::int64_t last) {
  pieces_.clear();
  for (std::int64_t number = first; number < last; ++number) {
    const StreamDocument document = stream_.document(number);
    if (shape_.task == Task::pairs) {
      add_pair(number, document);
    } else if (shape_.task == Task::spans) {
      add_spans(number, document);
    } else {
      add_text(number, document);
    }
  }
  most_ = std::max(most_, pieces_.size());
  return choose_rows();
}

void DocumentPacker::add_text(std::int64_t number, const StreamDocument& document) {
  const std::int64_t ahead = shape_.task == Task::next_token ? 1 : 0;  // tokens that are not read
  const std::int64_t columns = document.end - document.begin - ahead;
  PackedPiece piece{.document = number, .begin = document.begin};
  const auto add = [&](std::int64_t length, std::int64_t tokens) {
    piece.columns = length;
    piece.count = tokens;
    add_piece(document, piece);
  };
  if (columns <= shape_.length) return add(columns, columns + ahead);
  switch (shape_.longs) {
    case LongDocuments::drop:
      ++counts_.dropped;
      return;
    case LongDocuments::cut:
      ++counts_.cut;
      return add(shape_.length, ahead == 1 ? shape_.length + 1 : columns);
    case LongDocuments::split:
      break;
  }
  ++counts_.split;
  for (std::int64_t done = 0; done < columns; done += shape_.length) {
    const std::int64_t length = std::min(shape_.length, columns - done);
    piece.begin = document.begin + done;
    add(length, length + ahead);
  }
}

void DocumentPacker::add_pair(std::int64_t number, const StreamDocument& document) {
  if (document.end_sequence - document.first_sequence != 2)
    throw Error(
        ErrorKind::config,
        fmt::format("data file {}: {} sequences are no pair", stream_.place_of_document(number),
                    document.end_sequence - document.first_sequence),
        "of data.task = \"pairs\", a document is two sequences: the encoder's, and the one "
        "to predict");
  const TokenSequence source = document.file->sequence(document.first_sequence);
  const TokenSequence target = document.file->sequence(document.first_sequence + 1);
  const std::int64_t read = source.end - source.begin, made = target.end - target.begin;
  if (read > shape_.encoder_length || made > shape_.length) {
    if (shape_.longs == LongDocuments::drop) {
      ++counts_.dropped;
      return;
    }
    ++counts_.cut;
  }
  add_piece(document, {.document = number,
                       .columns = std::min(made, shape_.length),
                       .encoder_columns = std::min(read, shape_.encoder_length)});
}

/// What a piece takes of both rows does not depend on which spans are drawn, so neither do the
/// rows.
void DocumentPacker::add_spans(std::int64_t number, const StreamDocument& document) {
  const SpanRule& rule = *shape_.spans;
  std::int64_t tokens = document.end - document.begin;
  // Each piece gets an end token of its own.
  if (tokens > 0 && document.file->tokens()[document.end - 1] == rule.end) --tokens;
  const bool is_long = tokens > rule.most;
  if (is_long && shape_.longs == LongDocuments::drop) {
    ++counts_.dropped;
    return;
  }
  if (is_long) ++(shape_.longs == LongDocuments::cut ? counts_.cut : counts_.split);
  const std::int64_t all =
      is_long && shape_.longs == LongDocuments::cut ? rule.most : std::max<std::int64_t>(tokens, 1);
  for (std::int64_t done = 0; done < all; done += rule.most) {
    const std::int64_t count = std::min(rule.most, all - done);
    const SpanColumns columns =
        count < 2 ? SpanColumns{} : span_columns(rule.shape, count);  // one token has no span
    add_piece(document, {.document = number,
                         .begin = document.begin + done,
                         .count = count,
                         .columns = columns.decoder,
                         .encoder_columns = columns.encoder});
  }
}

void DocumentPacker::add_piece(const StreamDocument& document, const PackedPiece& piece) {
  if (piece.columns > 0 && has_targets(document, piece)) {
    pieces_.push_back(piece);
    counts_.used += piece.columns;
    return;
  }
  ++counts_.without_targets;
  if (counts_.first_without < 0) counts_.first_without = piece.document;
}

bool DocumentPacker::has_targets(const StreamDocument& document, const PackedPiece& piece) const {
  if (shape_.task != Task::next_token || !document.file->has_modes()) return true;
  for (std::int64_t i = document.first_sequence; i < document.end_sequence; ++i) {
    const TokenSequence sequence = document.file->sequence(i);
    const std::int64_t first = std::max(sequence.begin, piece.begin + 1);
    if (sequence.is_trained && first < std::min(sequence.end, piece.begin + piece.count))
      return true;
  }
  return false;
}

/// Sorts by counting, because all lengths are at most that of a row.
void DocumentPacker::sort_by_length() {
  std::ranges::fill(begins_, 0);
  for (const PackedPiece& piece : pieces_)
    ++begins_[static_cast<std::size_t>(shape_.length - piece.columns)];
  std::exclusive_scan(begins_.begin(), begins_.end(), begins_.begin(), std::size_t{0});
  order_.resize(pieces_.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    order_[begins_[static_cast<std::size_t>(shape_.length - pieces_[i].columns)]++] = i;
}

std::int64_t DocumentPacker::choose_rows() {
  sort_by_length();
  room_.clear();
  std::size_t open = 0;  // rows before it are full
  for (const std::size_t i : order_) {
    PackedPiece& piece = pieces_[i];
    while (open < room_.size() && room_[open].columns == 0) ++open;
    std::size_t row = open;
    while (row < room_.size() && (room_[row].columns < piece.columns ||
                                  room_[row].encoder_columns < piece.encoder_columns))
      ++row;
    if (row == room_.size()) room_.push_back({shape_.length, shape_.encoder_length});
    room_[row].columns -= piece.columns;
    room_[row].encoder_columns -= piece.encoder_columns;
    piece.row = static_cast<std::int64_t>(row);
  }
  return std::ssize(room_);
}

void DocumentPacker::append(const PackedPiece& piece, std::int64_t sample, RowBuffer& row) const {
  const StreamDocument document = stream_.document(piece.document);
  const TokenFile& file = *document.file;
  row.begin_document();
  if (shape_.task == Task::spans)
    return cut_spans(*shape_.spans, sample, {file, piece.begin, piece.count}, row);
  if (shape_.task == Task::pairs) {
    const TokenSequence source = file.sequence(document.first_sequence);
    const TokenSequence target = file.sequence(document.first_sequence + 1);
    append_kept(source.begin, source.end - source.begin, piece.encoder_columns,
                [&](std::int64_t at, std::int64_t count) { row.append_source(file, at, count); });
    return append_kept(
        target.begin, target.end - target.begin, piece.columns,
        [&](std::int64_t at, std::int64_t count) { row.append_target(file, at, count); });
  }
  const auto append = [&](std::int64_t at, std::int64_t count, bool is_trained) {
    row.append(file, at, count, is_trained);
  };
  if (shape_.task == Task::masked)
    return append_kept(piece.begin, piece.count, piece.columns,
                       [&](std::int64_t at, std::int64_t count) { append(at, count, true); });
  const std::int64_t end = piece.begin + piece.count;
  const std::int64_t read_end = row.used() + piece.columns;
  for (std::int64_t i = document.first_sequence; i < document.end_sequence; ++i) {
    const TokenSequence sequence = file.sequence(i);
    const std::int64_t from = std::max(sequence.begin, piece.begin);
    const std::int64_t to = std::min(sequence.end, end);
    if (from < to) append(from, to - from, sequence.is_trained);
  }
  row.cut_to(read_end);
}

}  // namespace ds
