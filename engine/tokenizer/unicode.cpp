#include "engine/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "engine/base/error.h"

namespace ds::unicode {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

bool is_continuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

/// Returns the bytes of the valid character at the beginning, or 0 and in `bad` the length of the
/// part to replace.
std::size_t valid_length(std::string_view text, std::size_t& bad) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  bad = 1;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes long forms, surrogates, and what is above U+10FFFF.
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (text.size() < 2 || byte(1) < least || byte(1) > most) return 0;
  for (bad = 2; bad < length; ++bad)
    if (bad >= text.size() || !is_continuation(byte(bad))) return 0;
  return length;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

std::vector<utf8proc_int32_t> decomposed(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  std::array<utf8proc_int32_t, 32> made{};  // the longest decomposition has 18 (U+FDFA)
  for (std::size_t at = 0; at < text.size();) {
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(next(text, at)), made.data(),
                                std::ssize(made), options, &boundary);
    DS_ASSERT(count >= 0 && count <= std::ssize(made), "the text is valid UTF-8");
    points.insert(points.end(), made.begin(), made.begin() + count);
  }
  return points;
}

/// Sorts each run of marks by their combining classes (Unicode, section 3.11).
void sort_marks(std::vector<utf8proc_int32_t>& points) {
  const auto combining_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  const auto is_mark = [&](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto first = points.begin();;) {
    first = std::find_if(first, points.end(), is_mark);
    if (first == points.end()) return;
    const auto end = std::find_if_not(first, points.end(), is_mark);
    std::stable_sort(first, end, [&](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    first = end;
  }
}

}  // namespace

std::string valid(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    std::size_t bad = 0;
    const std::size_t length = valid_length(bytes, bad);
    if (length > 0) {
      text.append(bytes.substr(0, length));
    } else {
      text.append(kReplacement);
    }
    bytes.remove_prefix(length > 0 ? length : bad);
  }
  return text;
}

std::size_t length_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

char32_t next(std::string_view text, std::size_t& at) {
  const std::size_t length = length_of(text[at]);
  DS_ASSERT(at + length <= text.size(), "the text is valid UTF-8");
  const auto byte = static_cast<unsigned char>(text[at]);
  char32_t c = length == 1 ? byte : byte & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i)
    c = c << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  at += length;
  return c;
}

void append(std::string& text, char32_t c) {
  const auto tail = [&](unsigned shift) {
    text.push_back(static_cast<char>(0x80U | (c >> shift & 0x3FU)));
  };
  if (c < 0x80) {
    text.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text.push_back(static_cast<char>(0xC0U | c >> 6U));
    tail(0);
  } else if (c < 0x10000) {
    text.push_back(static_cast<char>(0xE0U | c >> 12U));
    tail(6), tail(0);
  } else {
    text.push_back(static_cast<char>(0xF0U | c >> 18U));
    tail(12), tail(6), tail(0);
  }
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || is_between(c, '\t', '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || is_between(c, 0x2000, 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_number(char32_t c) {
  const auto of = category(c);
  return of == UTF8PROC_CATEGORY_ND || of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return is_between(c, '!', '/') || is_between(c, ':', '@') || is_between(c, '[', '`') ||
           is_between(c, '{', '~');
  const auto of = category(c);
  return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t c) {
  const auto of = category(c);
  return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_other(char32_t c) {
  const auto of = category(c);
  return of == UTF8PROC_CATEGORY_CC || of == UTF8PROC_CATEGORY_CF || of == UTF8PROC_CATEGORY_CO ||
         of == UTF8PROC_CATEGORY_CS;
}

bool is_han(char32_t c) {
  return is_between(c, 0x4E00, 0x9FFF) || is_between(c, 0x3400, 0x4DBF) ||
         is_between(c, 0x20000, 0x2A6DF) || is_between(c, 0x2A700, 0x2B73F) ||
         is_between(c, 0x2B740, 0x2B81F) || is_between(c, 0x2B920, 0x2CEAF) ||
         is_between(c, 0xF900, 0xFAFF) || is_between(c, 0x2F800, 0x2FA1F);
}

// U+0130 is the only character whose full mapping has two.
void append_lower(std::string& text, char32_t c) {
  if (c == 0x130) {
    text += "i\xCC\x87";
  } else {
    append(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

// utf8proc_map() is not used: its sort of marks takes quadratic time in their number.
std::string normalized(std::string_view text, Form form) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  const bool composes = form == Form::nfc || form == Form::nfkc;
  const bool compatible = form == Form::nfkc || form == Form::nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      static_cast<unsigned>(UTF8PROC_STABLE) |
      static_cast<unsigned>(composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
      static_cast<unsigned>(compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> points = decomposed(text, options);
  sort_marks(points);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(points.data(), std::ssize(points), options);
  DS_ASSERT(count >= 0, "the text is valid UTF-8");
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t point : std::span(points).first(static_cast<std::size_t>(count)))
    append(out, static_cast<char32_t>(point));
  return out;
}

std::size_t end_of_grapheme(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  auto before = static_cast<utf8proc_int32_t>(next(text, at));
  while (at < text.size()) {
    std::size_t behind = at;
    const auto c = static_cast<utf8proc_int32_t>(next(text, behind));
    if (utf8proc_grapheme_break_stateful(before, c, &state)) break;
    before = c;
    at = behind;
  }
  return at;
}

}  // namespace ds::unicode
