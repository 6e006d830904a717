// Names are split into texts and numbers; the numbers are merged place by place.
#include "launcher/hosts/fold_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_set>

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxDigits = 18;  // as in expand_host_ranges

/// Number with its written form; "7" and "007" are different. Ordered by width, then by value, so
/// that runs such as 08, 09, 10 or 9, 10, 11 stay together.
struct Number {
  std::size_t width = 0;
  std::uint64_t value = 0;
  std::string text;
  friend auto operator<=>(const Number&, const Number&) = default;
};
using Numbers = std::vector<Number>;  // sorted and unique

/// Set of names texts[0] numbers[0] texts[1] ...: all combinations of one number per place.
struct Pattern {
  std::vector<std::string> texts;
  std::vector<Numbers> numbers;
};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

Pattern pattern_of(const std::string& name) {
  Pattern pattern;
  std::string text;
  const bool is_address6 = name.find(':') != std::string::npos;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (is_address6 || end == at || end - at > kMaxDigits) {
      end = std::max(end, at + 1);
      text += name.substr(at, end - at);
    } else {
      Number number{end - at, 0, name.substr(at, end - at)};
      std::from_chars(name.data() + at, name.data() + end, number.value);
      pattern.texts.push_back(std::move(text));
      pattern.numbers.push_back({std::move(number)});
      text.clear();
    }
    at = end;
  }
  pattern.texts.push_back(std::move(text));
  return pattern;
}

/// Returns `[01-03,07]`, or a single number without brackets.
std::string bracket(const Numbers& numbers) {
  if (numbers.size() == 1) return numbers.front().text;
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    const Number& low = numbers[at];
    const std::size_t width = low.text.front() == '0' ? low.text.size() : 0;
    std::size_t end = at + 1;
    while (end < numbers.size() && numbers[end].value == low.value + (end - at) &&
           numbers[end].text == fmt::format("{:0{}}", numbers[end].value, width))
      ++end;
    text += text.empty() ? "[" : ",";
    text += low.text;
    if (end - at > 1) text += "-" + numbers[end - 1].text;
    at = end;
  }
  return text + "]";
}

std::string expression(const Pattern& pattern, std::size_t without = SIZE_MAX) {
  std::string text = pattern.texts.front();
  for (std::size_t i = 0; i < pattern.numbers.size(); ++i)
    text += (i == without ? "[]" : bracket(pattern.numbers[i])) + pattern.texts[i + 1];
  return text;
}

/// Merges the patterns that differ only at `place`.
std::vector<Pattern> merge_at(std::vector<Pattern> patterns, std::size_t place) {
  std::vector<Pattern> merged;
  std::map<std::string, std::size_t> known;
  for (Pattern& pattern : patterns) {
    if (place >= pattern.numbers.size()) {
      merged.push_back(std::move(pattern));
      continue;
    }
    const auto [entry, is_new] = known.try_emplace(expression(pattern, place), merged.size());
    if (is_new) {
      merged.push_back(std::move(pattern));
      continue;
    }
    Numbers& all = merged[entry->second].numbers[place];
    const Numbers& more = pattern.numbers[place];
    all.insert(all.end(), more.begin(), more.end());
  }
  for (Pattern& pattern : merged)
    if (place < pattern.numbers.size())
      std::sort(pattern.numbers[place].begin(), pattern.numbers[place].end());
  return merged;
}

}  // namespace

std::string fold_names(const std::vector<std::string>& names) {
  std::vector<Pattern> patterns;
  std::unordered_set<std::string_view> seen;
  std::size_t places = 0;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) continue;
    patterns.push_back(pattern_of(name));
    places = std::max(places, patterns.back().numbers.size());
  }
  for (std::size_t place = places; place-- > 0;) patterns = merge_at(std::move(patterns), place);
  std::string text;
  for (const Pattern& pattern : patterns) text += (text.empty() ? "" : ",") + expression(pattern);
  return text;
}

std::string names_with(const std::vector<std::string>& names, std::string_view one,
                       std::string_view several) {
  return fmt::format("{} {}", fold_names(names), names.size() == 1 ? one : several);
}

std::string rank_ranges(std::span<const int> sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(sorted[i]);
    if (last > i) text += '-' + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace ds::launcher
