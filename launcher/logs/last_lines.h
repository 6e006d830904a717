// Keeps the last bytes of each rank, and cuts them into lines for the verdict. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Cost:    at most kBytes are copied per call of add().
/// Memory:  at most kBytes for each rank that wrote anything.
class LastLines {
 public:
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kBytes = 4096;

  explicit LastLines(int world_size) : rings_(static_cast<std::size_t>(world_size)) {}

  /// Adds what `rank` wrote on `stream` (1 or 2), in order of arrival.
  void add(int rank, int stream, std::string_view text);
  void forget(int rank) { rings_[static_cast<std::size_t>(rank)] = {}; }
  /// Returns the last lines of both streams, oldest first, without newlines; of a progress line
  /// only the text that it ended with. Control bytes are not escaped.
  [[nodiscard]] std::vector<std::string> of(int rank, std::size_t count = kLines) const;

 private:
  struct Ring {
    std::unique_ptr<char[]> bytes;
    std::uint32_t capacity = 0;  // doubles up to kBytes
    std::uint32_t size = 0;
    std::uint32_t next = 0;  // where the next byte goes
    bool cut = false;        // older bytes have been overwritten
    std::int8_t open = 0;    // the stream of an unfinished last line, or 0
    void put(std::string_view text);
    void grow(std::size_t needed);
    [[nodiscard]] std::string text() const;
  };
  std::vector<Ring> rings_;  // by rank
};

}  // namespace ds::launcher
