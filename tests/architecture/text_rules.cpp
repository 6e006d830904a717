// Rules about the text of single files.
#include <regex>

#include "architecture/rules.h"

namespace ds::test {
namespace {

struct Pattern {
  std::regex form;
  std::string rule;
  std::string message;
};

/// Searched in code, with comments and literals blanked.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {std::regex(R"(\b(if|while|switch|for)\s*\([^;{}]*\bco_await\b)"), "co-await",
       "co_await inside a condition: g++ 12 miscompiles it; name the result first"},
      {std::regex(R"(([\w>)\]]\s*|[=(,]\s*|\breturn\s*)\{[^;{}]*\bco_await\b[^;{}]*\})"),
       "co-await",
       "co_await inside a braced initializer: g++ 12 frees it twice; name the result first"},
      {std::regex(R"(\bco_await\s+[\w:.>-]+\s*\([^;]*\{)"), "co-await",
       "co_await of a call with a braced temporary: g++ 12 frees it twice; name the argument "
       "first"},
      {std::regex(R"(\[\s*[&=\w][^\[\]]*\]\s*(\([^()]*\))?[^;{}()]*->\s*[\w:]*\bawaitable\b)"),
       "co-await",
       "a capturing lambda that is a coroutine: use a named function that takes values"},
      {std::regex(R"(\bDS_WITH_\w+)"), "backend-ifdef",
       "DS_WITH_... belongs in CMake: choose the backend by files"},
  };
  return all;
}

void check_patterns(const SourceFile& file, std::vector<Violation>& found) {
  for (const Pattern& pattern : patterns()) {
    const bool is_rare = pattern.rule == "co-await" &&
                         file.code.find("co_await") == std::string::npos &&
                         file.code.find("awaitable") == std::string::npos;
    if (is_rare) continue;
    for (std::sregex_iterator match(file.code.begin(), file.code.end(), pattern.form), end;
         match != end; ++match) {
      const auto offset = static_cast<std::size_t>(match->position() + match->length() - 1);
      found.push_back({file.path, line_of(file.code, offset), pattern.rule, pattern.message});
    }
  }
}

/// `// words`, `/// words` or `# words`, with at least three of them.
bool says_purpose(std::string_view line) {
  static const std::regex form(R"((//+|#) \S+ \S+ .*\S.*)");
  return std::regex_match(line.begin(), line.end(), form);
}

std::string_view line_at(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

void check_purpose(const SourceFile& file, std::vector<Violation>& found) {
  if (file.path.ends_with("CMakeLists.txt")) return;  // A list of one folder; its name says it.
  const int number = file.text.starts_with("#!") ? 2 : 1;
  if (!says_purpose(line_at(file.text, number))) {
    found.push_back(
        {file.path, number, "purpose", "the first line does not say what the file is for"});
  }
}

}  // namespace

std::vector<Violation> check_text(const std::vector<SourceFile>& files) {
  std::vector<Violation> found;
  for (const SourceFile& file : files) {
    check_purpose(file, found);
    if (!file.is_cpp()) continue;
    check_patterns(file, found);
    if (file.is_header() && file.code.find("#pragma once") == std::string::npos) {
      found.push_back({file.path, 1, "pragma-once", "a header without #pragma once"});
    }
  }
  return found;
}

}  // namespace ds::test
