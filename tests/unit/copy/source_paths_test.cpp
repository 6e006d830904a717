// Tests which names the patterns of sources stand for.
#include "launcher/copy/source_paths.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "engine/base/error.h"
#include "support/temp_folder.h"

using namespace ds::launcher::copy;

namespace {

void make_file(const std::string& path) {
  std::ofstream(path) << "x";
}

}  // namespace

TEST_CASE("patterns stand for names; a name that exists stands for itself") {
  const ds::test::TempFolder folder;
  const std::string root = folder / ".";
  for (const char* name : {"a1", "a2", "b[1]", "b1"}) make_file(folder / name);
  using Names = std::vector<std::string>;
  CHECK(expand_patterns({root + "/a*"}) == Names{root + "/a1", root + "/a2"});
  CHECK(expand_patterns({root + "/{b1,a1}"}) == Names{root + "/b1", root + "/a1"});
  CHECK(expand_patterns({root + "/b[1]"}) == Names{root + "/b[1]"});
  CHECK(expand_patterns({root + "/c*", "x"}) == Names{root + "/c*", "x"});
  const char* const home = std::getenv("HOME");
  ::setenv("HOME", root.c_str(), 1);
  CHECK(expand_patterns({"~/a[2]"}) == Names{root + "/a2"});
  home != nullptr ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
}

TEST_CASE("a word in braces that matches nothing stands for itself, so that its copy fails") {
  const ds::test::TempFolder folder;
  const std::string root = folder / ".";
  for (const char* name : {"a1", "a2", "{a1", "a,b", "c{d,e}"}) make_file(folder / name);
  using Names = std::vector<std::string>;
  CHECK(expand_patterns({root + "/{a1,b1}"}) == Names{root + "/a1", root + "/b1"});
  CHECK(expand_patterns({root + "/{a?,b*,a1}"}) ==
        Names{root + "/a1", root + "/a2", root + "/b*", root + "/a1"});
  CHECK(expand_patterns({root + "/\\{a[1]"}) == Names{root + "/{a1"});
  CHECK(expand_patterns({root + "/{a\\,b,c\\{d\\,e\\}}"}) ==
        Names{root + "/a,b", root + "/c{d,e}"});
}

TEST_CASE("braces are expanded as bash does") {
  using Names = std::vector<std::string>;
  const std::vector<std::pair<std::string, Names>> cases = {
      {"", {""}},
      {"a", {"a"}},
      {"{a,b}", {"a", "b"}},
      {"x{a,b}y{c,d}", {"xayc", "xayd", "xbyc", "xbyd"}},
      {"{a,{b,c}d}e", {"ae", "bde", "cde"}},
      {"x{,.old}", {"x", "x.old"}},
      {"{,a,}", {"a"}},
      {"{,}", {"{,}"}},  // no word is left
      {"{}", {"{}"}},
      {"{a}", {"{a}"}},
      {"{{a,b}}", {"{a}", "{b}"}},
      {"{a,b", {"{a,b"}},
      {"a,b}", {"a,b}"}},
      {"{{a,b}", {"{a", "{b"}},
      {"{a,b}}", {"a}", "b}"}},
      {"{a,{b}", {"{a,{b}"}},
      {"{a,b{c,d}", {"{a,bc", "{a,bd"}},
      {"\\{a,b}", {"\\{a,b}"}},
      {"{a\\,b,c\\}}", {"a\\,b", "c\\}"}},
      {"{a,b\\", {"{a,b\\"}}};
  for (const auto& [text, words] : cases) {
    CAPTURE(text);
    CHECK(expand_braces(text) == words);
  }
}

TEST_CASE("braces stand for a limited number of paths") {
  std::string many = "x";
  for (int i = 0; i < 12; ++i) many += "{a,b}";
  CHECK(expand_braces(many).size() == kMostWords);
  CHECK_THROWS_WITH_AS(expand_braces(many + "{a,b}"),
                       doctest::Contains("its braces stand for more than 4096 paths"), ds::Error);
  CHECK_THROWS_AS(expand_braces("{" + std::string(kMostWords, ',') + "}"), ds::Error);
  CHECK(expand_braces(std::string(50'000, '{') + "a,b").size() == 1);
}
