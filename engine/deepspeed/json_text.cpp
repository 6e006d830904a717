// A recursive reader of JSON with comments.
#include "engine/deepspeed/json_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/text_error.h"
#include "engine/base/whole_number.h"

namespace ds {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kShownBytes = 60;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Returns the length of the UTF-8 character at the start of `text`; 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0U) != 0x80U) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

void append_utf8(std::string& text, unsigned code) {
  const auto put = [&text](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

class Reader {
 public:
  explicit Reader(const JsonFile& file) : file_(file), text_(file.text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  JsonValue whole_file() {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t length = utf8_length(text_.substr(at));
      if (length == 0) fail(at, "bytes that are not UTF-8");
      at += length;
    }
    skip();
    if (peek() != '{') fail(at_, "a configuration is one JSON object, which begins with {");
    JsonValue value = read_value(0);
    skip();
    if (at_ != text_.size()) fail(at_, "text after the end of the JSON object");
    return value;
  }

 private:
  [[noreturn]] void fail(std::size_t offset, std::string_view what, std::string hint = {}) const {
    throw json_error(file_, offset, fmt::format("invalid JSON: {}", what), std::move(hint));
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool is_at(std::string_view word) const {
    return text_.substr(at_).starts_with(word);
  }

  /// Skips blanks and comments.
  void skip() {
    for (;;) {
      while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos)
        ++at_;
      if (is_at("//") || is_at("#")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_at("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail(at_, "a comment without an end");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  JsonValue read_value(int depth) {
    if (depth > kMaxDepth) fail(at_, fmt::format("nested deeper than {} levels", kMaxDepth));
    JsonValue value;
    value.offset = at_;
    const char first = peek();
    if (first == '{') {
      read_object(value, depth);
    } else if (first == '[') {
      read_list(value, depth);
    } else if (first == '"') {
      value.kind = JsonValue::Kind::text;
      value.text = read_text();
    } else if (first == '-' || (first >= '0' && first <= '9')) {
      read_number(value);
    } else {
      read_word(value);
    }
    value.length = at_ - value.offset;
    return value;
  }

  void read_object(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::object;
    ++at_;
    for (skip(); peek() != '}'; skip()) {
      if (peek() != '"') fail(at_, "expected a name in double quotes, or }");
      JsonMember member{.name = {}, .name_offset = at_};
      member.name = read_text();
      if (value.find(member.name) != nullptr) {
        fail(member.name_offset, fmt::format("\"{}\" is given twice", member.name),
             "DeepSpeed refuses this too: delete one of the two");
      }
      skip();
      if (peek() != ':') fail(at_, fmt::format("expected : after \"{}\"", member.name));
      ++at_;
      skip();
      member.value = read_value(depth + 1);
      value.members.push_back(std::move(member));
      end_of_element('}');
    }
    ++at_;
  }

  void read_list(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::list;
    ++at_;
    for (skip(); peek() != ']'; skip()) {
      value.list.push_back(read_value(depth + 1));
      end_of_element(']');
    }
    ++at_;
  }

  /// Skips the comma behind an element; none is needed before `close`.
  void end_of_element(char close) {
    skip();
    if (peek() == ',') {
      ++at_;
    } else if (peek() != close) {
      fail(at_, fmt::format("expected , or {}", close));
    }
  }

  std::string read_text() {
    const std::size_t begin = at_++;
    std::string text;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') fail(begin, "a string without its closing quote");
      if (peek() == '\\') {
        read_escape(text);
        continue;
      }
      if (static_cast<unsigned char>(peek()) < 0x20) fail(at_, "a control byte in a string");
      text += text_[at_++];
    }
    ++at_;
    return text;
  }

  void read_escape(std::string& text) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t begin = at_++;
    const std::size_t which = kNames.find(peek());
    if (peek() != '\0' && which != std::string_view::npos) {
      text += kMeanings[which];
      ++at_;
      return;
    }
    std::optional<unsigned> code = read_unicode();
    if (!code) fail(begin, "an unknown escape in a string");
    const bool is_high = *code >= 0xD800 && *code < 0xDC00;
    if (is_high && is_at("\\u")) {
      const std::size_t second = at_++;
      const std::optional<unsigned> low = read_unicode();
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00);
      } else {
        at_ = second;
      }
    }
    append_utf8(text, *code >= 0xD800 && *code < 0xE000 ? 0xFFFD : *code);
  }

  /// Reads the u and four hexadecimal digits.
  std::optional<unsigned> read_unicode() {
    if (peek() != 'u' || text_.size() - at_ < 5) return std::nullopt;
    unsigned code = 0;
    for (const char c : text_.substr(at_ + 1, 4)) {
      const std::size_t digit = std::string_view("0123456789abcdef")
                                    .find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
      if (digit == std::string_view::npos) return std::nullopt;
      code = code * 16 + static_cast<unsigned>(digit);
    }
    at_ += 5;
    return code;
  }

  void read_number(JsonValue& value) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const std::string_view positive = digits.substr(digits.starts_with('-') ? 1 : 0);
    const bool zero_first =
        positive.size() > 1 && positive[0] == '0' && positive[1] >= '0' && positive[1] <= '9';
    const std::optional<double> number = whole_number<double>(digits);
    if (!number || zero_first || positive.empty() || positive[0] == '.' || positive.back() == '.')
      fail(begin, fmt::format("'{}' is not a number", digits));
    if (!std::isfinite(*number)) fail(begin, "a number beyond the range of double");
    const std::optional<std::int64_t> integer = whole_number<std::int64_t>(digits);
    value.kind = integer ? JsonValue::Kind::integer : JsonValue::Kind::number;
    value.integer = integer.value_or(0);
    value.number = *number;
  }

  void read_word(JsonValue& value) {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!is_at(word)) continue;
      at_ += word.size();
      if (word == "null") return;
      value.kind = JsonValue::Kind::flag;
      value.flag = word == "true";
      return;
    }
    const bool python = is_at("True") || is_at("False") || is_at("None");
    fail(at_, "expected a value",
         python ? "JSON writes true, false and null" : "strings are written in double quotes");
  }

  const JsonFile& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const JsonMember* JsonValue::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found == members.end() ? nullptr : &*found;
}

JsonValue read_json_object(const JsonFile& file) { return Reader(file).whole_file(); }

JsonSpot spot_of(const JsonFile& file, std::size_t offset) {
  offset = std::min(offset, file.text.size());
  const std::string_view before = file.text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::string_view line = file.text.substr(begin);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {static_cast<int>(std::ranges::count(before, '\n')) + 1, line,
          std::min(offset - begin, line.size())};
}

Error json_error(const JsonFile& file, std::size_t offset, std::string_view what,
                 std::string hint) {
  const JsonSpot spot = spot_of(file, offset);
  return text_error({file.name, spot.line, spot.text}, spot.offset, what, std::move(hint));
}

std::string shown_value(const JsonFile& file, const JsonValue& value) {
  std::string text(file.text.substr(value.offset, value.length));
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return printable_text(text, kShownBytes);
}

}  // namespace ds
