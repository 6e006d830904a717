// Rules about the text of single files.
#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "architecture/rules.h"

namespace ds::test {
namespace {

struct Pattern {
  std::regex form;
  std::string rule;
  std::string message;
};

constexpr const char* kWrapMessage =
    "the linker replaces no function of a library (decision 16): use its public interface";

/// Searched in code, with comments and literals blanked.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {std::regex(R"(\bDS_WITH_\w+)"), "backend-ifdef",
       "DS_WITH_... belongs in CMake: choose the backend by files"},
      {std::regex(R"(\b__(wrap|real)_\w+)"), "symbol-wrap", kWrapMessage},
  };
  return all;
}

void check_patterns(const SourceFile& file, std::vector<Violation>& found) {
  for (const Pattern& pattern : patterns()) {
    for (std::sregex_iterator match(file.code.begin(), file.code.end(), pattern.form), end;
         match != end; ++match) {
      const auto offset = static_cast<std::size_t>(match->position() + match->length() - 1);
      found.push_back({file.path, line_of(file.code, offset), pattern.rule, pattern.message});
    }
  }
}

/// The ops that passes add or look for. They read the rows of all others
/// (engine/program/ops/row.h).
constexpr std::array<std::string_view, 9> kOpsOfSteps{
    "Add", "AllGather", "Clear", "Control", "Copy", "Exchange", "Idle", "LeafSquares", "Update"};

/// Passes are the files of engine/program itself.
bool is_pass(const SourceFile& file) {
  constexpr std::string_view kFolder = "engine/program/";
  return file.path.starts_with(kFolder) &&
         file.path.find('/', kFolder.size()) == std::string::npos && file.is_cpp();
}

void check_ops_of_passes(const SourceFile& file, std::vector<Violation>& found) {
  static const std::regex form(R"(\bops::(\w+))");
  for (std::sregex_iterator match(file.code.begin(), file.code.end(), form), end; match != end;
       ++match) {
    const std::string op = (*match)[1];
    if (std::ranges::find(kOpsOfSteps, op) != kOpsOfSteps.end()) continue;
    found.push_back(
        {file.path, line_of(file.code, static_cast<std::size_t>(match->position(1))),
         "pass-names-op",
         "a pass names the model's op " + op + ": let its row say what the pass needs"});
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

/// A .cpp that begins with its own header: the header says what both are for. Tests include by
/// paths below tests/.
bool begins_with_own_header(const SourceFile& file) {
  if (!file.path.ends_with(".cpp")) return false;
  const std::string header = file.path.substr(0, file.path.size() - 4) + ".h";
  std::string_view line = line_at(file.text, 1);
  constexpr std::string_view kStart = "#include \"";
  if (!line.starts_with(kStart) || !line.ends_with('"')) return false;
  line = line.substr(kStart.size(), line.size() - kStart.size() - 1);
  return header == line || header.ends_with("/" + std::string(line));
}

/// The linker's option in CMake text, also as `-Wl,--wrap,NAME` and `LINKER:--wrap=NAME`.
void check_link_options(const SourceFile& file, std::vector<Violation>& found) {
  if (!file.path.ends_with("CMakeLists.txt") && !file.path.ends_with(".cmake")) return;
  const std::size_t at = file.text.find("-wrap");
  if (at != std::string::npos)
    found.push_back({file.path, line_of(file.text, at), "symbol-wrap", kWrapMessage});
}

void check_purpose(const SourceFile& file, std::vector<Violation>& found) {
  if (file.path.ends_with("CMakeLists.txt")) return;  // A list of one folder; its name says it.
  if (begins_with_own_header(file)) return;
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
    check_link_options(file, found);
    if (!file.is_cpp()) continue;
    check_patterns(file, found);
    if (is_pass(file)) check_ops_of_passes(file, found);
    if (file.is_header() && file.code.find("#pragma once") == std::string::npos) {
      found.push_back({file.path, 1, "pragma-once", "a header without #pragma once"});
    }
  }
  return found;
}

}  // namespace ds::test
