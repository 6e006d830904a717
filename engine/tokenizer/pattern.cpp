#include "engine/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

// Oniguruma's \w is the one of Unicode Annex 18 without joiners. Outside of [ ] it has six more
// characters: ² ³ ¹ ¼ ½ ¾.
constexpr const char* kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr const char* kMoreOfWord = "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

[[noreturn]] void refuse(const std::string& expression, const std::string& why) {
  throw Error(ErrorKind::config,
              fmt::format("regular expression {}: {}", printable_text(expression, 300), why),
              "use a tokenizer whose patterns are those of a known model");
}

/// Refuses repeats such as {2}+ and options such as (?m), which PCRE2 reads in another way.
void refuse_other_syntax(const std::string& expression) {
  if (expression.find("(?m") != std::string::npos)
    refuse(expression, "(?m) has another meaning in Oniguruma");
  for (std::size_t at = expression.find("}+"); at != std::string::npos;
       at = expression.find("}+", at + 1)) {
    const std::size_t open = expression.rfind('{', at);
    const char first = open == std::string::npos ? ' ' : expression[open + 1];
    if (first >= '0' && first <= '9') refuse(expression, "{n}+ is possessive in PCRE2 alone");
  }
}

/// Returns the expression in PCRE2's syntax.
std::string translated(const std::string& expression) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char next = expression[++i];
      if (next == 'w') {
        out += in_class ? kWord : fmt::format("[{}{}]", kWord, kMoreOfWord);
      } else if (next == 's' || next == 'S') {
        out += next == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      } else if (next == 'W' && !in_class) {
        out += fmt::format("[^{}{}]", kWord, kMoreOfWord);
      } else if (std::string_view("WhHvbB").find(next) != std::string_view::npos) {
        refuse(expression, fmt::format("\\{} is not supported here", next));
      } else {
        out += {c, next};
      }
      continue;
    }
    if (in_class && (c == '[' || (c == '&' && expression.substr(i, 2) == "&&")))
      refuse(expression, "sets of characters within sets are not supported");
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

/// Returns the place for one match. Each thread has its own, because threads share expressions.
pcre2_match_data* match_data() {
  struct Free {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  thread_local const std::unique_ptr<pcre2_match_data, Free> kData(
      pcre2_match_data_create(1, nullptr));
  DS_ASSERT(kData != nullptr);
  return kData.get();
}

}  // namespace

struct Pattern::Compiled {
  std::string expression{};
  pcre2_code* code = nullptr;
  ~Compiled() { pcre2_code_free(code); }
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_unique<Compiled>()) {
  refuse_other_syntax(expression);
  const std::string text = translated(expression);
  int error = 0;
  PCRE2_SIZE place = 0;
  compiled_->expression = expression;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK,
                                  &error, &place, nullptr);
  if (compiled_->code == nullptr) {
    std::array<PCRE2_UCHAR, 200> why{};
    pcre2_get_error_message(error, why.data(), why.size());
    refuse(expression, reinterpret_cast<const char*>(why.data()));
  }
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);  // else it is interpreted
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

void Pattern::find(std::string_view text, std::vector<Part>& found) const {
  found.clear();
  pcre2_match_data* const data = match_data();
  std::size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                         at, PCRE2_NO_UTF_CHECK | options, data, nullptr);
    };
    int count = match(0);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(PCRE2_NO_JIT);
    if (count == PCRE2_ERROR_NOMATCH) return;
    if (count < 0)
      refuse(compiled_->expression,
             fmt::format("a text of {} bytes needs too many steps", text.size()));
    const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(data);
    const bool is_empty = place[0] == place[1];
    at = place[1];
    if (!is_empty || found.empty() || found.back().second != at) {
      found.emplace_back(place[0], place[1]);
    } else if (at == text.size()) {
      return;
    } else {  // the same empty match again: go on behind the next character
      at += unicode::length_of(text[at]);
    }
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\0') {
      out += "\\x00";
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                          (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (!is_plain) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace ds
