// ArrowFile: a ParquetFile that Apache Arrow reads.
#pragma once

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>

#include <optional>

#include "engine/packing/parquet/arrow_messages.h"
#include "engine/packing/parquet_file.h"

namespace ds {

class ArrowFile : public ParquetFile {
 public:
  /// Errors: as open_parquet().
  ArrowFile(const std::string& path, const ParquetColumns& columns);

  [[nodiscard]] const std::vector<Group>& groups() const override { return groups_; }
  void seek(int group) override;
  bool next(RawDocument& row) override;

 private:
  void open();
  void find_columns();
  void measure_groups();
  bool next_batch();
  void take_texts(RawDocument& row) const;
  void take_messages(RawDocument& row) const;
  [[nodiscard]] std::string text_of(std::string_view text, std::size_t column) const;
  [[nodiscard]] std::string place() const;  // of the next row
  [[noreturn]] void refuse(std::size_t column, const std::string& why, std::string hint) const;

  std::string path_;
  ParquetColumns columns_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<bool> are_bytes_;  // of each column
  std::optional<MessageFields> message_;
  std::vector<int> leaves_;  // Parquet's columns, which are read
  std::vector<Group> groups_;

  // The row group that is read, and the rows of it that are decoded.
  int group_ = 0;
  std::int64_t first_row_ = 0;  // of the row group
  std::int64_t row_ = 0;        // the next one, in the row group
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::vector<std::shared_ptr<arrow::Array>> arrays_;  // of each column
  std::optional<MessageLists> lists_;
  std::int64_t decoded_ = 0;   // rows in arrays_
  std::int64_t in_batch_ = 0;  // the next one, in arrays_
};

}  // namespace ds
