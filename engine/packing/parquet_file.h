// ParquetFile: the rows of a Parquet file, read by a library that is opened at run time, so that
// programs run where Apache Arrow is not installed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/packing/raw_document.h"

namespace ds {

/// The columns that a task reads.
struct ParquetColumns {
  std::vector<std::string> names;
  bool has_messages = false;  // the only column is lists of messages; else each is texts
};

/// One thread uses it. Rows and row groups count from 0, rows over the whole file.
class ParquetFile {
 public:
  struct Group {
    std::int64_t rows = 0;
    std::int64_t bytes = 0;  // of the columns, before compression
  };

  virtual ~ParquetFile() = default;
  [[nodiscard]] virtual const std::vector<Group>& groups() const = 0;
  /// Continues at the first row of a row group. Errors: Error{config}: it cannot be read.
  virtual void seek(int group) = 0;
  /// Overwrites `row` with the next row of the row group; returns false behind its last row. Texts
  /// of columns of strings may be other than UTF-8; roles are as they are written. Errors:
  /// Error{config} with file, row group, row and column: a text is null, bytes are not UTF-8, a
  /// message has no role, the file is damaged.
  virtual bool next(RawDocument& row) = 0;
};

/// The result of the one function that libdsengine_parquet.so exports, dsengine_parquet().
struct ParquetPlugin {
  const char* build = "";  // build_tag() of the library
  std::unique_ptr<ParquetFile> (*open)(const std::string& path,
                                       const ParquetColumns& columns) = nullptr;
};

/// Opens a file; the library first: $DSLAUNCH_PARQUET_PLUGIN, else beside the program or in ../lib.
/// Errors: Error{config}: there is no library, the file is not Parquet or is cut off, a column is
/// missing or has another type.
std::unique_ptr<ParquetFile> open_parquet(const std::string& path, const ParquetColumns& columns);

}  // namespace ds
