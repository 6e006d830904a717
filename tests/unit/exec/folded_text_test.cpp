// Tests of what exec -b and --diff print.
#include "launcher/exec/folded_text.h"

#include <doctest/doctest.h>

namespace {

using namespace ds::launcher::exec;

const std::vector<std::string> kNames = {"n1", "n2", "n3", "n4"};

OutputTree kernels() {
  OutputTree tree(4);
  for (const int node : {0, 1, 3}) tree.add(node, 1, "Linux\n6.1\nx86_64\n");
  tree.add(2, 1, "Linux\n5.10\nx86_64\n");
  tree.finish();
  return tree;
}

std::string folded_of(const std::vector<OutputGroup>& groups) {
  std::string text;
  print_folded(groups, kNames, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string diff_of(const std::vector<OutputGroup>& groups) {
  std::string text;
  print_diff(groups, kNames, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("groups stand below their nodes") {
  const OutputTree tree = kernels();
  CHECK(folded_of(tree.groups()) ==
        "---------------\nn[1-2,4] (3)\n---------------\nLinux\n6.1\nx86_64\n"
        "---------------\nn3\n---------------\nLinux\n5.10\nx86_64\n");
  CHECK(folded_of({}).empty());
}

TEST_CASE("differences are to the output that most have") {
  const OutputTree tree = kernels();
  CHECK(diff_of(tree.groups()) ==
        "---------------\nn[1-2,4] (3)\n---------------\nLinux\n6.1\nx86_64\n"
        "--- n[1-2,4] (3)\n+++ n3\n@@ -1,3 +1,3 @@\n Linux\n-6.1\n+5.10\n x86_64\n");
  CHECK(diff_of({}).empty());
}

TEST_CASE("no output is one that differs, where the command has ended") {
  OutputTree tree(4);
  tree.add(2, 1, "only\n");
  tree.finish();
  CHECK(diff_of(tree.groups({true, true, true, false})) ==
        "---------------\nn[1-2] (2)\n---------------\n"
        "--- n[1-2] (2)\n+++ n3\n@@ -0,0 +1 @@\n+only\n");
  CHECK(diff_of(OutputTree(4).groups({true, true, true, true})).empty());
}

TEST_CASE("control bytes stay away from the terminal, tabs do not") {
  OutputTree tree(1);
  tree.add(0, 1, "a\tb\x1b[31m\x7f\xc3\xa4\n");
  tree.finish();
  CHECK(folded_of(tree.groups()) == "---------------\nn1\n---------------\na\tb?[31m?\xc3\xa4\n");
}
