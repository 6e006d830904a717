// Expansion of brackets: splits an expression into lists of alternatives and combines them.
#include "launcher/hosts/host_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxDigits = 18;  // fits std::uint64_t with room for the arithmetic below

using Alternatives = std::vector<std::string>;

/// Number in a bracket: its value, and the width set by leading zeros.
struct Number {
  std::uint64_t value = 0;
  std::size_t width = 0;
};

std::string padded(std::uint64_t value, std::size_t width) {
  std::array<char, kMaxDigits + 2> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  std::string text(std::max(width, count) - count, '0');
  return text.append(digits.data(), count);
}

/// Parser for one expression. Keeps the first problem and stops there.
class Expander {
 public:
  explicit Expander(std::string_view text) : text_(text) {}

  bool run() {
    std::string plain;
    while (at_ < text_.size()) {
      if (text_[at_] == ']') return fail(at_, "']' without a '[' before it");
      if (text_[at_] != '[') {
        plain += text_[at_++];
        continue;
      }
      if (!plain.empty()) pieces_.push_back({std::exchange(plain, std::string())});
      if (!read_bracket()) return false;
    }
    if (!plain.empty() || pieces_.empty()) pieces_.push_back({plain});
    return true;
  }

  [[nodiscard]] Alternatives names() const {
    Alternatives names = pieces_.front();
    for (const Alternatives& piece : std::span(pieces_).subspan(1)) {
      Alternatives longer;
      longer.reserve(names.size() * piece.size());
      for (const std::string& start : names) {
        for (const std::string& end : piece) longer.push_back(start + end);
      }
      names = std::move(longer);
    }
    return names;
  }

  [[nodiscard]] const RangeProblem& problem() const { return problem_; }

 private:
  bool fail(std::size_t offset, std::string message, std::string hint = {}) {
    problem_ = {offset, std::move(message), std::move(hint)};
    return false;
  }

  bool read_bracket() {
    const std::size_t opening = at_++;
    Alternatives piece;
    while (true) {
      if (!read_item(opening, piece)) return false;
      if (at_ >= text_.size()) return unclosed(opening);
      const char separator = text_[at_];
      if (separator != ',' && separator != ']') {
        return fail(at_, fmt::format("unexpected '{}' in brackets", separator),
                    "brackets contain numbers and ranges, for example node[01-16,20]");
      }
      ++at_;
      if (separator == ']') break;
    }
    total_ *= piece.size();
    if (total_ > kMaxHosts) return too_many(opening);
    pieces_.push_back(std::move(piece));
    return true;
  }

  bool read_item(std::size_t opening, Alternatives& piece) {
    const std::size_t start = at_;
    const std::optional<Number> lo = read_number(opening);
    if (!lo) return false;
    Number hi = *lo;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      const std::optional<Number> end = read_number(opening);
      if (!end) return false;
      hi = *end;
    }
    if (hi.value < lo->value) {
      return fail(start, fmt::format("the range {} is reversed", text_.substr(start, at_ - start)),
                  fmt::format("write {}-{}", hi.value, lo->value));
    }
    if (hi.value - lo->value >= kMaxHosts - piece.size()) return too_many(start);
    for (std::uint64_t value = lo->value; value <= hi.value; ++value) {
      piece.push_back(padded(value, lo->width));
    }
    return true;
  }

  std::optional<Number> read_number(std::size_t opening) {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const std::size_t digits = at_ - start;
    if (digits == 0) {
      if (at_ >= text_.size()) {
        unclosed(opening);
      } else {
        fail(at_, "missing number in brackets",
             "brackets contain numbers and ranges, for example node[01-16,20]");
      }
      return std::nullopt;
    }
    if (digits > kMaxDigits) {
      fail(start, fmt::format("number with {} digits; at most {} are allowed", digits, kMaxDigits));
      return std::nullopt;
    }
    Number number;
    std::from_chars(text_.data() + start, text_.data() + at_, number.value);
    number.width = text_[start] == '0' ? digits : 0;
    return number;
  }

  bool unclosed(std::size_t opening) { return fail(opening, "unclosed '['", "add a ']'"); }

  bool too_many(std::size_t offset) {
    return fail(offset, fmt::format("more than {} hosts in one expression", kMaxHosts));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t total_ = 1;
  std::vector<Alternatives> pieces_;
  RangeProblem problem_;
};

}  // namespace

std::variant<std::vector<std::string>, RangeProblem> expand_host_ranges(
    std::string_view expression) {
  Expander expander(expression);
  if (!expander.run()) return expander.problem();
  return expander.names();
}

}  // namespace ds::launcher
