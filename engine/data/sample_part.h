// SamplePart: rows of sample files, one after the other.
#pragma once

#include <memory>
#include <vector>

#include "engine/data/corpus.h"
#include "engine/data/data_part.h"
#include "engine/data/sample_file.h"

namespace ds {

/// Errors: Error{config} if two files have other fields, or another length of the encoder's
/// sequences.
void require_alike(const SampleFile& first, const SampleFile& file);

class SamplePart : public DataPart {
 public:
  /// Adds rows [begin, end) of `file`; an empty range adds nothing. Errors: as require_alike().
  void add(std::shared_ptr<const SampleFile> file, std::int64_t begin, std::int64_t end);
  /// Returns the first file; null if there is none.
  [[nodiscard]] const SampleFile* first_file() const {
    return pieces_.empty() ? nullptr : pieces_.front().file.get();
  }

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::string size_text() const override;
  [[nodiscard]] std::string identity() const override;
  [[nodiscard]] std::int64_t epoch() const override { return size_; }
  [[nodiscard]] std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const override;
  [[nodiscard]] std::int64_t validation_place(std::int64_t index,
                                              std::int64_t count) const override;
  void will_need(SamplePlace sample) const override;
  /// A place is the number of a row, counted over all files.
  [[nodiscard]] SampleRow row(SamplePlace sample) const override;
  [[nodiscard]] std::string describe(SamplePlace sample, const RowError& error) const override;

 private:
  struct Piece {
    std::shared_ptr<const SampleFile> file;
    std::int64_t first_row;  // of the file
    std::int64_t begin;      // number of that row in the part
  };
  [[nodiscard]] const Piece& piece_at(std::int64_t place) const;
  std::vector<Piece> pieces_;
  Corpus bytes_;  // of the rows, field by field, for the identity
  std::int64_t size_ = 0;
};

}  // namespace ds
