// Secret values in what ranks write are replaced before anybody sees them. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// A value is found wherever it stands in a line, also if the line comes in pieces: the end of a
/// piece that may be the beginning of a value waits for the next one.
class Redactor {
 public:
  /// Shorter values are words that stand everywhere.
  static constexpr std::size_t kShortest = 6;

  /// Of a value of several lines each line is one.
  explicit Redactor(const std::vector<std::string>& values);

  [[nodiscard]] bool active() const { return !values_.empty(); }

  /// What may be shown of the next piece of a stream (1 or 2) of a rank; `last`: nothing follows.
  /// The view is valid until the next call.
  std::string_view pass(int rank, int stream, std::string_view text, bool last);
  /// Of a text that is whole.
  [[nodiscard]] std::string clean(std::string_view text) const;

 private:
  /// Appends to shown_ what is safe of `text`; returns how much was looked at.
  std::size_t replace(std::string_view text, bool whole, std::string& shown) const;

  std::vector<std::string> values_;                  // the longest first
  std::array<bool, 256> begins_{};                   // bytes that a value begins with
  std::map<std::pair<int, int>, std::string> held_;  // by rank and stream
  std::string shown_;
};

}  // namespace ds::launcher
