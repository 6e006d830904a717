// Replaces secret values in the output of ranks. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// Finds a value anywhere in a line, even if the line arrives in pieces: the end of a piece that
/// may begin a value waits for the next piece.
class Redactor {
 public:
  /// Shorter values are ignored: they occur in ordinary text.
  static constexpr std::size_t kShortest = 6;

  /// Each line of a value with several lines is a value of its own.
  explicit Redactor(const std::vector<std::string>& values);

  [[nodiscard]] bool active() const { return !values_.empty(); }

  /// Returns what may be shown of the next piece of a rank's stream (1 or 2); `last`: nothing
  /// follows. The view is valid until the next call.
  std::string_view pass(int rank, int stream, std::string_view text, bool last);
  /// Returns a complete text with its values replaced.
  [[nodiscard]] std::string clean(std::string_view text) const;

 private:
  /// Appends the safe part of `text` to `shown`. Returns how many bytes of `text` that covers.
  std::size_t replace(std::string_view text, bool whole, std::string& shown) const;

  std::vector<std::string> values_;                  // the longest first
  std::array<bool, 256> begins_{};                   // bytes that a value begins with
  std::map<std::pair<int, int>, std::string> held_;  // by rank and stream
  std::string shown_;
};

}  // namespace ds::launcher
