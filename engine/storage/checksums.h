// Checksums: XXH3 of every piece written, kept in memory and compared when that piece is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

namespace ds {

/// Threads: any. Memory: one map node per piece; setting a known piece again allocates nothing.
class Checksums {
 public:
  /// Stores the checksum of a piece and forgets every other piece that overlaps it.
  void set(std::int64_t offset, std::span<const std::byte> bytes);
  /// Returns false if a checksum is known for exactly this range and differs from these bytes.
  [[nodiscard]] bool matches(std::int64_t offset, std::span<const std::byte> bytes) const;
  void clear();

 private:
  struct Sum {
    std::int64_t size = 0;
    std::uint64_t hash = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::int64_t, Sum> sums_;
};

}  // namespace ds
