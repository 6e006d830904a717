// Equal outputs end at one place of the tree, however the bytes were cut on their way.
#include "launcher/exec/output_tree.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace {

using namespace ds::launcher::exec;

std::string text_of(const OutputGroup& group) {
  std::string text;
  for (const int node : group.nodes) text += std::to_string(node) + " ";
  text += group.cut ? "cut:" : ":";
  for (const std::string_view line : group.lines) text += " " + std::string(line);
  return text;
}

std::vector<std::string> texts_of(const OutputTree& tree) {
  std::vector<std::string> texts;
  for (const OutputGroup& group : tree.groups()) texts.push_back(text_of(group));
  return texts;
}

}  // namespace

TEST_CASE("nodes with equal output are one group, the largest first") {
  OutputTree tree(5);
  tree.add(0, 1, "6.1\nok\n");
  tree.add(1, 1, "5.10\nok\n");
  tree.add(2, 1, "6.1\n");
  tree.add(3, 1, "5.10\n");
  tree.add(2, 1, "ok\n");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 2 : 6.1 ok", "1 : 5.10 ok", "3 : 5.10"});
}

TEST_CASE("a last line without newline is a line, and silence is no output") {
  OutputTree tree(3);
  tree.add(0, 1, "a");
  tree.add(1, 1, "a\n");
  tree.add(2, 1, "");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 1 : a"});
}

TEST_CASE("progress and DOS lines count as they look in the end") {
  OutputTree tree(3);
  tree.add(0, 1, "10%\r50%\r100%\nx\n");
  tree.add(1, 1, "20%\r100%\r\nx\r\n");
  tree.add(2, 1, "100%\nx");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 1 2 : 100% x"});
}

TEST_CASE("lines of both streams stay whole") {
  OutputTree tree(1);
  tree.add(0, 1, "out ");
  tree.add(0, 2, "err\n");
  tree.add(0, 1, "put\n");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 : err out put"});
}

TEST_CASE("how the bytes were cut makes no difference") {
  std::mt19937 random(5);
  const std::string texts[] = {"a\nb\n\nc\n", "a\nb\n\nd\n", "a\nb", "\n"};
  for (int round = 0; round < 200; ++round) {
    OutputTree tree(20);
    std::map<unsigned, std::vector<int>> expected;
    for (int node = 0; node < 20; ++node) {
      const unsigned which = random() % 4;
      expected[which].push_back(node);
      std::string_view rest = texts[which];
      while (!rest.empty()) {
        const std::size_t size = 1 + random() % rest.size();
        tree.add(node, 1, rest.substr(0, size));
        rest.remove_prefix(size);
      }
    }
    tree.finish();
    const auto groups = tree.groups();
    CHECK(groups.size() == expected.size());
    for (const OutputGroup& group : groups) {
      bool found = false;
      for (const auto& [which, nodes] : expected) found = found || nodes == group.nodes;
      CHECK(found);
    }
  }
}

TEST_CASE("what is too long is cut, and said to be") {
  OutputTree tree(2, 3000);
  for (int i = 0; i < 100; ++i) tree.add(0, 1, "line " + std::to_string(i) + "\n");
  tree.add(1, 1, "line 0\n");
  tree.finish();
  const auto groups = tree.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].cut);
  CHECK(groups[0].lines.size() > 10);
  CHECK(groups[0].lines.size() < 30);
  CHECK(text_of(groups[1]) == "1 : line 0");
}

TEST_CASE("a line that never ends does not take all memory") {
  OutputTree tree(1, 1000);
  for (int i = 0; i < 100; ++i) tree.add(0, 1, std::string(50, 'x'));
  tree.finish();
  REQUIRE(tree.groups().size() == 1);
  CHECK(tree.groups()[0].cut);
}
