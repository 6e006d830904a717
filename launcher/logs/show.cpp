// Parser for --show: splits the value at commas and checks each item.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && value >= 0 ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(std::string_view whole, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("--show '{}': {}", whole, why),
              "ranks (0), ranges (0-7), last, err (standard error of any rank), all, none; joined "
              "by commas");
}

}  // namespace

ShowChoice ShowChoice::parse(std::string_view text) {
  ShowChoice choice;
  choice.text_ = text;
  choice.all_ = false;
  const std::vector<std::string_view> words = split(text, ',');
  for (const std::string_view word : words) {
    const std::size_t dash = word.find('-');
    if (word == "all") {
      choice.all_ = true;
    } else if (word == "none") {
      if (words.size() > 1) refuse(text, "'none' stands alone");
    } else if (word == "err") {
      choice.errors_ = true;
    } else if (word == "last") {
      choice.ranges_.push_back({-1, -1});
    } else if (const auto rank = number(word)) {
      choice.ranges_.push_back({*rank, *rank});
    } else if (dash != std::string_view::npos) {
      const auto first = number(word.substr(0, dash));
      const bool open = word.substr(dash + 1) == "last";
      const auto last = open ? std::optional(-1) : number(word.substr(dash + 1));
      if (!first || !last) refuse(text, fmt::format("'{}' is not a range", word));
      if (*last >= 0 && *last < *first) refuse(text, fmt::format("'{}' runs backwards", word));
      choice.ranges_.push_back({*first, *last});
    } else {
      refuse(text, word.empty() ? "a word is missing" : fmt::format("'{}' is not a rank", word));
    }
  }
  return choice;
}

std::vector<std::uint8_t> ShowChoice::resolve(int world_size) const {
  const std::uint8_t any = all_ ? 3 : errors_ ? 2 : 0;
  std::vector<std::uint8_t> shown(static_cast<std::size_t>(world_size), any);
  for (const Range& range : ranges_) {
    const int first = range.first < 0 ? world_size - 1 : range.first;
    const int last = range.last < 0 ? world_size - 1 : range.last;
    const int wrong = std::max(first, last);
    if (wrong >= world_size)
      throw Error(ErrorKind::usage, fmt::format("--show '{}': there is no rank {}", text_, wrong),
                  fmt::format("this job has ranks 0 to {}", world_size - 1));
    for (int rank = first; rank <= last; ++rank) shown[static_cast<std::size_t>(rank)] = 3;
  }
  return shown;
}

}  // namespace ds::launcher
