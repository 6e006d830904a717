// XXH3 of every piece that was written, kept in memory and compared when the same piece is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

namespace ds {

/// Threads: any. Memory: one node a piece; nothing is allocated when a known piece is set again.
class Checksums {
 public:
  /// Forgets every other piece that overlaps.
  void set(std::int64_t offset, std::span<const std::byte> bytes);
  /// False if these bytes differ from those set for exactly this range; true if such are not known.
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
