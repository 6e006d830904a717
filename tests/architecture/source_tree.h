// The sources of a tree as text, for the rules that are checked by reading them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

struct SourceFile {
  std::string path;  // relative to the top of the tree, with '/'
  std::string text;
  std::string
      code;  // text with comments and the insides of literals blanked; same lines, same columns

  [[nodiscard]] bool is_cpp() const;     // .h, .cpp, .cu, .cuh
  [[nodiscard]] bool is_header() const;  // .h, .cuh
};

/// The sources, scripts, CMakeLists.txt and *.cmake below launcher/, runner/, engine/, tests/,
/// scripts/ and cmake/ of `root`, and its CMakeLists.txt, sorted by path. Folders named "bad" in tests/architecture are left out: they hold the
/// violations that prove the rules.
std::vector<SourceFile> read_source_tree(const std::filesystem::path& root);

/// Blanks comments, and the insides of string and character literals (raw ones too).
std::string blank_comments_and_literals(std::string_view text);

/// The number, from 1, of the line that holds byte `offset`.
int line_of(std::string_view text, std::size_t offset);

}  // namespace ds::test
