// The last lines of each rank, for the verdict: the tail of its bytes, cut into lines when asked.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Cost: at most kBytes are copied per call of add(), whatever it gets.
/// Memory: nothing for a rank that is silent, at most kBytes for one that is not.
class LastLines {
 public:
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kBytes = 4096;

  explicit LastLines(int world_size) : rings_(static_cast<std::size_t>(world_size)) {}

  /// What `rank` wrote on `stream` (1 or 2), in the order in which it came.
  void add(int rank, int stream, std::string_view text);
  void forget(int rank) { rings_[static_cast<std::size_t>(rank)] = {}; }
  /// The last lines of both streams, oldest first, without newlines. Of a progress line only what
  /// it shows in the end. Bytes are as they came: escape them before they are printed.
  [[nodiscard]] std::vector<std::string> of(int rank, std::size_t count = kLines) const;

 private:
  struct Ring {
    std::unique_ptr<char[]> bytes;
    std::uint32_t capacity = 0;  // doubles up to kBytes
    std::uint32_t size = 0;
    std::uint32_t next = 0;  // where the next byte goes
    bool cut = false;        // older bytes were overwritten
    std::int8_t open = 0;    // the stream of a line without newline at the end
    void put(std::string_view text);
    void grow(std::size_t needed);
    [[nodiscard]] std::string text() const;
  };
  std::vector<Ring> rings_;  // by rank
};

}  // namespace ds::launcher
