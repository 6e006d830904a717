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

TEST_CASE("each form of co_await that g++ 12 miscompiles is caught, and the plain forms are not") {
  struct Row {
    const char* code;
    bool bad;
  };
  const Row rows[] = {
      {"if (co_await f()) g();", true},
      {"while (x && co_await f()) g();", true},
      {"switch (co_await f()) {}", true},
      {"if (\n  co_await f()) g();", true},
      {"Agg g{.a = co_await x()};", true},
      {"return {co_await x(), 1};", true},
      {"take({co_await x()});", true},
      {"v = {1, co_await x()};", true},
      {"co_await f({.a = T{}});", true},
      {"const auto r = co_await f(T{1});", true},
      {"auto l = [this]() -> asio::awaitable<void> { co_return; };", true},
      {"auto l = [&, n](int x) -> awaitable<int> { co_return n; };", true},
      {"auto l = [=] -> awaitable<int> { co_return n; };", true},
      {"const auto r = co_await f(x);", false},
      {"co_await f(x);", false},
      {"if (ready) { co_await f(x); }", false},
      {"awaitable<int> f() { co_return co_await g(); }", false},
      {"else { co_await f(x); }", false},
      {"do { co_await f(x); } while (again);", false},
      {"auto l = [](int x) -> awaitable<int> { co_return x; };", false},
      {"int a[3]; auto f() -> awaitable<int>;", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    const std::string text = std::string("// A file of one snippet.\n") + row.code + " awaitable";
    const std::vector<SourceFile> files = {
        {"launcher/x.cpp", text, blank_comments_and_literals(text)}};
    CHECK(check_text(files).empty() == !row.bad);
  }
}

TEST_CASE("comments and literals are not code") {
  const std::string text =
      "int a = 10'000; // co_await\n"
      "auto b = \"\\\"co_await\"; char c = '\"'; /* co_await\n co_await */ int d;\n"
      "auto e = R\"x(co_await)\")x\"; int f;\n";
  const std::string code = blank_comments_and_literals(text);
  CHECK(code.size() == text.size());
  CHECK(code.find("co_await") == std::string::npos);
  for (const char* kept : {"10'000;", "char c", "int d;", "int f;"}) {
    CAPTURE(kept);
    CHECK(code.find(kept) != std::string::npos);
  }
  CHECK(std::count(code.begin(), code.end(), '\n') == 4);
}
