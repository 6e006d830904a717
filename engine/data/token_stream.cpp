// TokenStream: cuts files into the two parts, and finds tokens and documents.
#include "engine/data/token_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace ds {

void TokenStream::add(const std::shared_ptr<const TokenFile>& file, double held_out, bool tail) {
  const std::int64_t tokens = file->tokens().count, documents = file->documents();
  const bool is_cut_in_document = documents == 1;
  const std::int64_t all = is_cut_in_document ? tokens : documents;
  const std::int64_t cut = all - static_cast<std::int64_t>(static_cast<double>(all) * held_out);
  const std::int64_t first = tail ? cut : 0, last = tail ? all : cut;
  if (first >= last) return;
  const auto token_of = [&](std::int64_t place) {
    if (is_cut_in_document || place == 0) return place;
    // Documents without a sequence may stand behind the last one.
    const std::int64_t sequence =
        place == documents ? file->sequences() : file->sequences_of(place).first;
    return sequence == file->sequences() ? tokens : file->sequence(sequence).begin;
  };
  const std::int64_t begin = token_of(first), end = token_of(last);
  if (begin >= end) return;
  const std::int64_t held = is_cut_in_document ? 1 : last - first;
  pieces_.push_back({.file = file,
                     .token = begin,
                     .first_document = is_cut_in_document ? 0 : first,
                     .begin = size_,
                     .end = size_ + end - begin,
                     .document = documents_,
                     .document_end = documents_ + held});
  size_ += end - begin;
  documents_ += held;
  has_index_ = has_index_ || file->has_index();
  has_modes_ = has_modes_ || file->has_modes();
  bytes_.add(file->file(), file->byte_of(begin), file->byte_of(end));
  if (file->has_index()) bytes_.add(file->index_file(), 0, std::ssize(file->index_file()->bytes()));
}

const TokenStream::Piece& TokenStream::piece_at(std::int64_t offset) const {
  DS_ASSERT(offset >= 0 && offset < size_);
  return *std::prev(std::ranges::upper_bound(pieces_, offset, {}, &Piece::begin));
}

const TokenStream::Piece& TokenStream::piece_of_document(std::int64_t number) const {
  DS_ASSERT(number >= 0 && number < documents_);
  return *std::prev(std::ranges::upper_bound(pieces_, number, {}, &Piece::document));
}

TokenRun TokenStream::run_at(std::int64_t offset, std::int64_t count) const {
  const Piece& piece = piece_at(offset);
  const std::int64_t token = piece.token + offset - piece.begin;
  const std::int64_t number = piece.file->sequence_at(token);
  const TokenSequence sequence = piece.file->sequence(number);
  const std::int64_t end = std::min(sequence.end, piece.token + piece.end - piece.begin);
  return {.file = piece.file.get(),
          .begin = token,
          .count = std::min(count, end - token),
          .document = piece.document + piece.file->document_of(number) - piece.first_document,
          .is_trained = sequence.is_trained};
}

void TokenStream::will_need(std::int64_t offset, std::int64_t count) const {
  const Piece& piece = piece_at(offset);
  const WholeNumbers& tokens = piece.file->tokens();
  const std::int64_t size = size_of(tokens.type);
  ds::will_need(tokens.data + (piece.token + offset - piece.begin) * size,
                std::min(count, piece.end - offset) * size);
}

StreamDocument TokenStream::document(std::int64_t number) const {
  const Piece& piece = piece_of_document(number);
  const TokenFile& file = *piece.file;
  const auto [first, last] = file.sequences_of(piece.first_document + number - piece.document);
  StreamDocument found{.file = &file, .first_sequence = first, .end_sequence = last};
  if (first == last) return found;
  const std::int64_t piece_end = piece.token + piece.end - piece.begin;
  const TokenSequence begin = file.sequence(first);
  const TokenSequence end = last == first + 1 ? begin : file.sequence(last - 1);
  found.begin = std::max(begin.begin, piece.token);
  found.end = std::min(end.end, piece_end);
  return found;
}

std::string TokenStream::place_of(std::int64_t offset) const {
  const Piece& piece = piece_at(offset);
  const std::int64_t token = piece.token + offset - piece.begin;
  return fmt::format("{}, {} {}", piece.file->name(), is_text(*piece.file) ? "byte" : "token",
                     token);
}

bool TokenStream::is_text(const TokenFile& file) {
  return !file.has_index() && size_of(file.tokens().type) == 1;
}

std::string TokenStream::size_text() const {
  if (pieces_.empty() || is_text(*pieces_.front().file)) return format_bytes(size_);
  return fmt::format("{} tokens", size_);
}

std::string TokenStream::place_of_document(std::int64_t number) const {
  const Piece& piece = piece_of_document(number);
  return fmt::format("{}, document {}", piece.file->name(),
                     piece.first_document + number - piece.document);
}

std::string TokenStream::identity() const { return bytes_.identity(); }

}  // namespace ds
