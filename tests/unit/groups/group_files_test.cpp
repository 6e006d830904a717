// Files of ClusterShell: groups.conf, YAML, lines of names, templates.
#include "launcher/groups/group_files.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"

namespace {

using namespace ds::launcher;

std::string yaml_failure(std::string_view text) {
  try {
    read_group_yaml(text, "g.yaml");
  } catch (const ds::Error& error) {
    const std::string what = error.what();
    return what.substr(0, what.find('\n'));
  }
  return "none";
}

}  // namespace

TEST_CASE("lines of names") {
  const std::string_view text = "# x\nadm: login[1-2]\n gpu : @old,n[1-4] # new\nadm: m1\n";
  CHECK(named_nodes(text, "adm") == " login[1-2]\n m1\n");
  CHECK(named_nodes(text, "gpu") == " @old,n[1-4] \n");
  CHECK(named_nodes(text, "x") == std::nullopt);
  CHECK(names_of_lines(text) == std::vector<std::string>{"adm", "gpu", "adm"});
}

TEST_CASE("groups.conf") {
  ConfSections sections;
  read_groups_conf(
      "[Main]\ndefault: local\n; x\n# y\n\n[local,more]\nMap = a: b\n  c = d\n\nlist: x=y\n", "g",
      sections);
  read_groups_conf("[Main]\ndefault: mine\n", "h", sections);
  CHECK(sections["Main"]["default"] == "mine");
  CHECK(sections["local,more"]["map"] == "a: b\nc = d");
  CHECK(sections["local,more"]["list"] == "x=y");
  for (const char* text : {"map: x\n", "[a\n", "[a]\nmap\n"}) {
    INFO(text);
    CHECK_THROWS_AS(read_groups_conf(text, "g", sections), ds::Error);
  }
}

TEST_CASE("group files in YAML") {
  const GroupTable table = read_group_yaml(
      "# x\n---\nroles:\n    adm: 'n0'   # one\n    io: \"@racks:rack2,n2\"\n    it: 'it''s'\n\n"
      "    plain: n[1-4]!n2 # c\nracks:\n  rack5:\n      - 'a[1-2]'  # c\n      - b#1\n  rack6: "
      "c\r\n",
      "g.yaml");
  REQUIRE(table.size() == 2);
  const auto& roles = table.at("roles");
  CHECK(roles.at("adm") == "n0");
  CHECK(roles.at("io") == "@racks:rack2,n2");
  CHECK(roles.at("it") == "it's");
  CHECK(roles.at("plain") == "n[1-4]!n2");
  CHECK(table.at("racks").at("rack5") == "a[1-2],b#1");
  CHECK(table.at("racks").at("rack6") == "c");
  CHECK(read_group_yaml("", "g").empty());
}

TEST_CASE("other YAML is refused with its place") {
  CHECK(yaml_failure("a:\n  b: [x, y]\n").starts_with("g.yaml:2:6: this YAML is not supported"));
  CHECK(yaml_failure("a:\n  b: &x y\n").starts_with("g.yaml:2:6: this YAML"));
  CHECK(yaml_failure("a:\n  b: @x\n").starts_with("g.yaml:2:6: this YAML"));
  CHECK(yaml_failure("a:\n\tb: x\n").starts_with("g.yaml:2:"));
  CHECK(yaml_failure("a: x\n") == "g.yaml:1:1: a source contains groups, not nodes");
  CHECK(yaml_failure("  a: x\n") == "g.yaml:1:3: this group belongs to no source");
  CHECK(yaml_failure("a:\n  b: x\n   c: y\n") ==
        "g.yaml:3:4: groups of a source are indented equally");
  CHECK(yaml_failure("a:\n  b: x\n  b: y\n") == "g.yaml:3:3: this group exists already");
  CHECK(yaml_failure("a:\n  - x\n") == "g.yaml:2:3: this item belongs to no group");
  CHECK(yaml_failure("a:\n  b: 'x\n") == "g.yaml:2:8: the closing quote is missing");
  CHECK(yaml_failure("a:\n  b: 'x' y\n") == "g.yaml:2:10: nothing may follow a value");
  CHECK(yaml_failure("word\n") == "g.yaml:1:5: expected 'name: nodes'");
}

TEST_CASE("templates fill only what is known") {
  CHECK(fill_template("a $GROUP ${GROUP}b $f $$x $GROUPS ${f} $", {{"GROUP", "g1"}}) ==
        "a g1 g1b $f $x $GROUPS ${f} $");
}
