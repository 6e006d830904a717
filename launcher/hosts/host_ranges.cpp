// Expansion of brackets: splits an expression into lists of alternatives and combines them.
#include "launcher/hosts/host_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxDigits = 18;  // fits std::uint64_t with room for the arithmetic below
constexpr const char* kForm = "brackets contain numbers and ranges, for example node[01-16,20]";

using Alternatives = std::vector<std::string>;

/// Number in a bracket: its value, and the width set by leading zeros.
struct Number {
  std::uint64_t value = 0;
  std::size_t width = 0;
};

/// Parser for one expression. Throws a RangeProblem.
class Expander {
 public:
  explicit Expander(std::string_view text) : text_(text) {}

  /// Returns the texts and the brackets in their order.
  std::vector<Alternatives> pieces() {
    std::vector<Alternatives> pieces;
    while (at_ < text_.size()) {
      if (text_[at_] == ']') fail(at_, "']' without a '[' before it");
      if (text_[at_] == '[') {
        pieces.push_back(read_bracket());
        continue;
      }
      const std::size_t end = std::min(text_.find_first_of("[]", at_), text_.size());
      pieces.push_back({std::string(text_.substr(at_, end - at_))});
      at_ = end;
    }
    return pieces;
  }

 private:
  [[noreturn]] static void fail(std::size_t offset, std::string message, std::string hint = {}) {
    throw RangeProblem{offset, std::move(message), std::move(hint)};
  }
  [[noreturn]] static void too_many(std::size_t offset) {
    fail(offset, fmt::format("more than {} hosts in one expression", kMaxHosts));
  }
  [[noreturn]] static void unclosed(std::size_t opening) {
    fail(opening, "unclosed '['", "add a ']'");
  }

  Alternatives read_bracket() {
    const std::size_t opening = at_;
    Alternatives piece;
    do {
      ++at_;
      read_item(opening, piece);
      if (at_ >= text_.size()) unclosed(opening);
    } while (text_[at_] == ',');
    if (text_[at_] != ']') fail(at_, fmt::format("unexpected '{}' in brackets", text_[at_]), kForm);
    ++at_;
    total_ *= piece.size();
    if (total_ > kMaxHosts) too_many(opening);
    return piece;
  }

  void read_item(std::size_t opening, Alternatives& piece) {
    const std::size_t start = at_;
    const Number lo = read_number(opening);
    Number hi = lo;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      hi = read_number(opening);
    }
    if (hi.value < lo.value)
      fail(start, fmt::format("the range {} is reversed", text_.substr(start, at_ - start)),
           fmt::format("write {}-{}", hi.value, lo.value));
    const std::uint64_t step = read_step(opening, start);
    if ((hi.value - lo.value) / step >= kMaxHosts - piece.size()) too_many(start);
    for (std::uint64_t value = lo.value; value <= hi.value; value += step)
      piece.push_back(fmt::format("{:0{}}", value, lo.width));
  }

  /// Reads the `/2` of `1-5/2`; without it the step is 1. `start`: of the range.
  std::uint64_t read_step(std::size_t opening, std::size_t start) {
    if (at_ >= text_.size() || text_[at_] != '/') return 1;
    const std::size_t slash = at_++;
    const bool is_range = text_.substr(start, slash - start).find('-') != std::string_view::npos;
    const std::uint64_t step = read_number(opening).value;
    if (!is_range || step == 0)
      fail(slash, "a step needs a range before it, and is at least 1", "for example node[1-9/2]");
    return step;
  }

  Number read_number(std::size_t opening) {
    const std::size_t start = at_;
    at_ = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const std::size_t digits = at_ - start;
    if (digits == 0 && at_ >= text_.size()) unclosed(opening);
    if (digits == 0) fail(at_, "missing number in brackets", kForm);
    if (digits > kMaxDigits)
      fail(start, fmt::format("number with {} digits; at most {} are allowed", digits, kMaxDigits));
    Number number{0, text_[start] == '0' ? digits : 0};
    std::from_chars(text_.data() + start, text_.data() + at_, number.value);
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t total_ = 1;
};

}  // namespace

std::vector<std::string> combined(const std::vector<std::string>& starts,
                                  const std::vector<std::string>& ends) {
  std::vector<std::string> longer;
  longer.reserve(starts.size() * ends.size());
  for (const std::string& start : starts)
    for (const std::string& end : ends) longer.push_back(start + end);
  return longer;
}

std::variant<std::vector<std::string>, RangeProblem> expand_host_ranges(
    std::string_view expression) {
  try {
    Alternatives names = {""};
    for (const Alternatives& piece : Expander(expression).pieces()) names = combined(names, piece);
    return names;
  } catch (const RangeProblem& problem) {
    return problem;
  }
}

}  // namespace ds::launcher
