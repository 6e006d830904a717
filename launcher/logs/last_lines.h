// Keeps the last bytes of each rank, and cuts them into lines for the verdict. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Cost:    at most twice kBytes are copied per call of add().
/// Memory:  at most kBytes for each rank that wrote anything.
class LastLines {
 public:
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kBytes = 4096;

  explicit LastLines(int world_size) : tails_(static_cast<std::size_t>(world_size)) {}

  /// Adds what `rank` wrote on `stream` (1 or 2), in order of arrival.
  void add(int rank, int stream, std::string_view text);
  void forget(int rank) { tails_[static_cast<std::size_t>(rank)] = {}; }
  /// Returns the last lines of both streams, oldest first, without newlines; of a progress line
  /// only the text that it ended with. Control bytes are not escaped.
  [[nodiscard]] std::vector<std::string> of(int rank, std::size_t count = kLines) const;

 private:
  struct Tail {
    std::vector<char> bytes;  // the last kBytes
    bool cut = false;         // older bytes are gone
    std::int8_t open = 0;     // the stream of an unfinished last line, or 0
    void put(std::string_view text);
  };
  std::vector<Tail> tails_;  // by rank
};

}  // namespace ds::launcher
