// LineReader: the lines of a text file that begin in a stretch of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/packing/byte_source.h"

namespace ds {

class LineReader {
 public:
  /// Reads the lines whose first byte lies in [begin, end) of the file. Errors: as open_bytes().
  LineReader(const std::string& path, std::int64_t begin, std::int64_t end);

  /// Sets `line` to the next line, without its end, until the next call; returns false at the end.
  bool next(std::string_view& line);
  /// Returns the number of the last line in the file, from 1. Reads the file up to there: for
  /// errors only.
  [[nodiscard]] std::int64_t line_number() const;

 private:
  bool fill();

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::string held_;              // bytes of the file from `first_` on
  std::size_t from_ = 0;          // of the next line in `held_`
  std::int64_t first_ = 0, end_;  // bytes of the file, of compressed ones decompressed
  std::int64_t line_at_ = 0;      // where the last line begins
  bool is_over_ = false;
};

}  // namespace ds
