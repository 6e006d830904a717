// RecordFile: a file of records, each appended by one write(2), that training can do without.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace ds {

/// A full disk loses records and never leaves a part of one, so that what follows can be read once
/// there is space again.
class RecordFile {
 public:
  RecordFile() = default;
  /// Creates `path`, which must not exist yet. On failure every append() fails.
  static RecordFile create(const std::string& path);
  /// The same for a file that may exist and is continued.
  static RecordFile continued(const std::string& path);

  /// Appends a whole record or nothing. Returns whether it did.
  bool append(std::string_view record);
  [[nodiscard]] bool is_empty() const { return end_ == 0; }
  /// Returns why the last create() or append() failed: "out/metrics.csv: No space left on device".
  [[nodiscard]] std::string problem() const;

 private:
  static RecordFile open(const std::string& path, int flags);

  std::string path_;
  UniqueFd file_;
  std::int64_t end_ = 0;  // of the last whole record
  int error_ = 0;         // of errno
};

}  // namespace ds
