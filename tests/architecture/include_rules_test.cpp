// The tree keeps the house rules, and a tree full of violations (bad/) is caught in every one of
// them.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "architecture/rules.h"
#include "support/read_file.h"

using namespace ds::test;

namespace {

/// "path: rule" of each violation, each once.
std::set<std::string> summary(const std::vector<Violation>& violations) {
  std::set<std::string> lines;
  for (const Violation& violation : violations)
    lines.insert(violation.path + ": " + violation.rule);
  return lines;
}

std::set<std::string> expected_of_bad_tree() {
  std::istringstream text(read_source("tests/architecture/bad/EXPECTED"));
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && !line.starts_with("#")) lines.insert(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("the tree keeps the rules of ARCHITECTURE.md") {
  const std::vector<SourceFile> files = read_source_tree(DS_SOURCE_DIR);
  CHECK(std::count_if(files.begin(), files.end(),
                      [](const SourceFile& f) { return f.path.starts_with("launcher/"); }) > 10);
  CHECK(std::count_if(files.begin(), files.end(),
                      [](const SourceFile& f) { return f.path.starts_with("engine/"); }) > 10);
  for (const Violation& violation : check_all(files)) {
    FAIL_CHECK(violation.path << ":" << violation.line << ": " << violation.rule << ": "
                              << violation.message);
  }
}

TEST_CASE("every rule catches its violations in the bad tree, and nothing else there") {
  const auto files = read_source_tree(std::string(DS_SOURCE_DIR) + "/tests/architecture/bad");
  const std::set<std::string> seen = summary(check_all(files));
  const std::set<std::string> expected = expected_of_bad_tree();
  for (const std::string& line : expected)
    CHECK_MESSAGE(seen.contains(line), "not caught: " << line);
  for (const std::string& line : seen)
    CHECK_MESSAGE(expected.contains(line), "not expected: " << line);
}

TEST_CASE("comments and literals are not code") {
  const std::string text =
      "int a = 10'000; // DS_WITH_X\n"
      "auto b = \"\\\"DS_WITH_X\"; char c = '\"'; /* DS_WITH_X\n DS_WITH_X */ int d;\n"
      "auto e = R\"x(DS_WITH_X)\")x\"; int f;\n";
  const std::string code = blank_comments_and_literals(text);
  CHECK(code.size() == text.size());
  CHECK(code.find("DS_WITH_X") == std::string::npos);
  for (const char* kept : {"10'000;", "char c", "int d;", "int f;"}) {
    CAPTURE(kept);
    CHECK(code.find(kept) != std::string::npos);
  }
  CHECK(std::count(code.begin(), code.end(), '\n') == 4);
}
