// DocumentPacker: puts whole documents side by side into rows of a fixed length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/data/cut_spans.h"
#include "engine/data/row_buffer.h"
#include "engine/data/token_stream.h"

namespace ds {

/// How documents become rows.
struct RowShape {
  Task task = Task::next_token;
  std::int64_t length = 0, encoder_length = 0;  // tokens of a row; of the encoder's
  LongDocuments longs = LongDocuments::split;   // what happens to those that fit no row
  std::optional<SpanRule> spans{};              // of Task::spans
};

/// What packing did, in documents but for the last one.
struct PackCounts {
  std::int64_t split = 0, cut = 0, dropped = 0;
  std::int64_t without_targets = 0;  // pieces in which there is nothing to learn
  std::int64_t first_without = -1;   // the first document of those
  std::int64_t used = 0;             // columns of rows that hold a token

  void add(const PackCounts& other);
};

/// A piece of a document and the row that holds it.
struct PackedPiece {
  std::int64_t document = 0;
  std::int64_t begin = 0, count = 0;  // tokens of the file; pairs: not used
  std::int64_t columns = 0, encoder_columns = 0;
  std::int64_t row = 0;
};

/// Packs a few documents at a time: the longest first, each into the first row that has room
/// (first-fit decreasing). Which documents share a row does not depend on an epoch.
class DocumentPacker {
 public:
  DocumentPacker(const TokenStream& stream, const RowShape& shape);

  /// Packs documents [first, last), and returns the number of rows. Adds to counts(). Allocates
  /// only for more pieces than ever before. Errors: Error{config}: a damaged index; pairs: a
  /// document that does not have two sequences.
  std::int64_t pack(std::int64_t first, std::int64_t last);
  /// Returns the pieces of the last pack().
  [[nodiscard]] std::span<const PackedPiece> pieces() const { return pieces_; }
  [[nodiscard]] const PackCounts& counts() const { return counts_; }
  /// Makes room for `pieces`.
  void reserve(std::size_t pieces);
  [[nodiscard]] std::size_t most_pieces() const { return most_; }
  /// Appends a piece to the row of a sample as its next document.
  void append(const PackedPiece& piece, std::int64_t sample, RowBuffer& row) const;

 private:
  void add_text(std::int64_t number, const StreamDocument& document);
  void add_pair(std::int64_t number, const StreamDocument& document);
  void add_spans(std::int64_t number, const StreamDocument& document);
  void add_piece(const StreamDocument& document, const PackedPiece& piece);
  [[nodiscard]] bool has_targets(const StreamDocument& document, const PackedPiece& piece) const;
  void sort_by_length();
  std::int64_t choose_rows();

  const TokenStream& stream_;
  RowShape shape_;
  std::vector<PackedPiece> pieces_;
  std::vector<std::size_t> begins_;  // of each length in order_, the longest first
  std::vector<std::size_t> order_;   // pieces, the longest first
  struct Room {
    std::int64_t columns, encoder_columns;
  };
  std::vector<Room> room_;  // left in each row
  std::size_t most_ = 0;
  PackCounts counts_;
};

}  // namespace ds
