// ByteSource: the bytes of a text file, which may be compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ds {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Writes the next bytes to `out`, and returns how many; 0: the end. Errors: Error{config} with
  /// the file: it cannot be read, or is cut off.
  virtual std::size_t read(std::span<char> out) = 0;
};

/// Returns whether the name ends in .gz or .zst.
bool is_compressed(const std::string& path);
/// Opens a file; a plain one at byte `begin`. Errors: Error{config}.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, std::int64_t begin = 0);
/// Returns all bytes. Errors: as read().
std::string read_all(ByteSource& source);

}  // namespace ds
