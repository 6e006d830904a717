// MappedFile: a file as bytes in memory, mapped read-only. Pages come and go with the page cache;
// nothing is copied.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ds {

class MappedFile {
 public:
  /// Errors: Error{config} naming the file, which cannot be read, is not a regular file, or is
  /// empty.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::span<const std::uint8_t> bytes_;
};

/// Asks the kernel to read bytes of a mapped file, and does not wait for them.
void will_need(const void* bytes, std::int64_t count);

}  // namespace ds
