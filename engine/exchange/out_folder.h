// OutFolder: a folder of files that appears complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"

namespace ds {

/// A file of known size, written in any order. All functions throw Error{system} naming the file
/// and the reason.
class OutFile {
 public:
  OutFile(std::string path, std::int64_t bytes);
  void write(std::span<const std::byte> bytes, std::int64_t at);
  /// Syncs and closes the file.
  void finish();

 private:
  std::string path_;
  UniqueFd file_;
};

/// Files are written to PATH.tmp-PID, which commit() renames to PATH. The destructor removes it
/// without a commit.
class OutFolder {
 public:
  /// Errors: Error{config}: `path` exists and is not an empty folder, or its parent does not exist
  /// or has less than `bytes` free; Error{system}.
  OutFolder(std::string path, std::int64_t bytes);
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

  [[nodiscard]] OutFile add(const std::string& name, std::int64_t bytes) const;
  void add_text(const std::string& name, std::string_view text) const;
  /// Errors: Error{system}; Error{config}: the folder was created meanwhile.
  void commit();

 private:
  std::string path_, writing_;
  bool is_committed_ = false;
};

}  // namespace ds
