// PackedPart: rows of whole documents.
#pragma once

#include <optional>
#include <vector>

#include "engine/data/data_part.h"
#include "engine/data/document_packer.h"
#include "engine/data/mask_tokens.h"

namespace ds {

/// A place is the number of a row. Rows are not kept: the chunk of documents that holds a row is
/// packed again, so that a part takes 8 bytes for each chunk of about 64 rows.
class PackedPart : public DataPart {
 public:
  /// Packs everything once, on all cores, to count the rows. Errors: as DocumentPacker::pack().
  PackedPart(TokenStream stream, const RowShape& shape, std::optional<MaskRule> mask);
  PackedPart(const PackedPart&) = delete;
  PackedPart& operator=(const PackedPart&) = delete;

  [[nodiscard]] std::int64_t size() const override { return first_rows_.back(); }
  [[nodiscard]] std::string size_text() const override;
  [[nodiscard]] std::string note() const override;
  [[nodiscard]] std::string identity() const override { return stream_.identity(); }
  [[nodiscard]] std::int64_t epoch() const override { return size(); }
  [[nodiscard]] std::int64_t place_of(std::int64_t sample, std::uint64_t seed) const override;
  [[nodiscard]] std::int64_t validation_place(std::int64_t index,
                                              std::int64_t count) const override;
  void will_need(SamplePlace sample) const override;
  [[nodiscard]] SampleRow row(SamplePlace sample) const override;
  [[nodiscard]] std::string describe(SamplePlace sample, const RowError& error) const override;

 private:
  void count_rows();
  /// Packs the chunk that holds a row, and returns the row's number in it.
  std::int64_t pack_chunk_of(std::int64_t row) const;

  TokenStream stream_;
  RowShape shape_;
  std::optional<MaskRule> mask_;
  std::int64_t chunk_ = 1;                // documents
  std::vector<std::int64_t> first_rows_;  // of each chunk, and the number of rows
  PackCounts counts_;
  mutable DocumentPacker packer_;
  mutable RowBuffer buffer_;
};

}  // namespace ds
