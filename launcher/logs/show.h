// Parses --show, which selects the ranks whose output is shown: `0-3,7,err`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// The value of --show; all ranks by default. Rank numbers are checked by resolve().
class ShowChoice {
 public:
  /// Errors:  Error{usage} naming the invalid item and the accepted form.
  static ShowChoice parse(std::string_view text);

  /// Returns the streams shown, by rank: 1 stdout, 2 stderr, added up.
  /// Errors:  Error{usage} for a rank that the job does not have.
  [[nodiscard]] std::vector<std::uint8_t> resolve(int world_size) const;

 private:
  struct Range {
    int first = 0;
    int last = 0;  // -1: the last rank
  };
  std::string text_;
  bool all_ = true;
  bool errors_ = false;
  std::vector<Range> ranges_;
};

}  // namespace ds::launcher
