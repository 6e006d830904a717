// A folder of files that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace ds {

/// A file of known size, written in any order. Errors of all: Error{system} naming the file and
/// why.
class OutFile {
 public:
  OutFile(std::string path, std::int64_t bytes);
  void write(std::span<const std::byte> bytes, std::int64_t at);
  /// fsync and close.
  void finish();

 private:
  std::string path_;
  UniqueFd file_;
};

/// Files are written into PATH.tmp-PID; commit() gives it its name. Destroyed without: it is
/// removed.
class OutFolder {
 public:
  /// Errors: Error{config}: `path` is there and not an empty folder, or its parent is not there or
  /// has less than `bytes` free; Error{system}.
  OutFolder(std::string path, std::int64_t bytes);
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

  [[nodiscard]] OutFile add(const std::string& name, std::int64_t bytes) const;
  void add_text(const std::string& name, std::string_view text) const;
  /// Errors: Error{system}; Error{config}: somebody else has made it meanwhile.
  void commit();

 private:
  std::string path_, writing_;
  bool is_committed_ = false;
};

}  // namespace ds
