// Tests of variable files: meaning of each line, and errors.
#include "launcher/cli/env_file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"

using namespace ds::launcher;
namespace fs = std::filesystem;

namespace {

/// Returns "A=<1> B=<x y>", or the first line of the error.
std::string read(std::string_view text) {
  try {
    std::string all;
    for (const NamedValue& variable : parse_env_file(text, "f"))
      all += fmt::format("{}{}=<{}>", all.empty() ? "" : " ", variable.name, variable.value);
    return all;
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    const std::string what = error.what();
    return what.substr(0, what.find('\n'));
  }
}

std::string load_error(const std::string& path, bool named) {
  try {
    named ? load_env_file(path) : load_default_env_file(path);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "none";
}

}  // namespace

TEST_CASE("lines of a file of variables") {
  struct Row {
    std::string_view text, expected;
  };
  const Row rows[] = {
      {"", ""},
      {"\n  \n# comment\n\t# another\n", ""},
      {"A=1\nB=2", "A=<1> B=<2>"},
      {"A=1\r\nB=\r\n", "A=<1> B=<>"},
      {"export A=1\nexport\tB=2", "A=<1> B=<2>"},
      {"export=1", "export=<1>"},
      {"  A=1  ", "A=<1>"},
      {"A=x=y", "A=<x=y>"},
      {"A=a b c", "A=<a b c>"},
      {"A=a # comment", "A=<a>"},
      {"A=a#b", "A=<a#b>"},
      {"A=#b", "A=<>"},
      {"A=\"a # b\" # c", "A=<a # b>"},
      {"A='$HOME \"x\"'", "A=<$HOME \"x\">"},
      {"A=\"\\\"q\\\" \\$x \\n \\\\\"", "A=<\"q\" $x \\n \\>"},
      {"A=$HOME/x", "A=<$HOME/x>"},
      {"A=\"\"", "A=<>"},
      {"A=it's", "A=<it's>"},
      {"\xEF\xBB\xBF"
       "A=1",
       "A=<1>"},
      {"A=1\nA=2", "A=<1> A=<2>"},
      {"A", "f:1:1: expected NAME=value"},
      {"\nA =1", "f:2:1: 'A ' is not a valid variable name"},
      {"1A=1", "f:1:1: '1A' is not a valid variable name"},
      {"=1", "f:1:1: '' is not a valid variable name"},
      {"A-B=1", "f:1:1: 'A-B' is not a valid variable name"},
      {"A=\"x", "f:1:3: missing closing quote"},
      {"A='x' y", "f:1:7: unexpected text after the closing quote"},
      {"A='x'#y", "f:1:6: unexpected text after the closing quote"},
      {"RANK=1", "f:1:1: dslaunch sets RANK for every rank"},
      {"DSLAUNCH_JOB_KEY=1", "f:1:1: dslaunch sets DSLAUNCH_JOB_KEY for every rank"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(read(row.text) == row.expected);
  }
  CHECK(parse_env_file("\nA=1", "f")[0].source == "f:2");
  CHECK(read(std::string_view("A=\0", 3)) == "f:1:3: a value cannot contain a NUL byte");
}

TEST_CASE("who may have written a file decides whether it is read") {
  std::string folder = (fs::temp_directory_path() / "env_file_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/e";
  CHECK(load_default_env_file(path).variables.empty());
  CHECK(load_error(path, true) == "cannot use variables from " + path +
                                      ": No such file or directory\n  hint: check --env-file; "
                                      "relative paths start at the current directory");
  std::ofstream(path) << "A=1\n";
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(load_env_file(path).variables.size() == 1);
  CHECK_FALSE(load_env_file(path).read_by_all);
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  CHECK(load_default_env_file(path).read_by_all);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  for (const bool named : {true, false})
    CHECK(load_error(path, named) == "cannot use variables from " + path +
                                         ": every user can write it\n  hint: chmod o-w " + path);
  CHECK(load_error(folder, true) == "cannot use variables from " + folder + ": it is a directory");
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
    CHECK(load_env_file(path).variables.size() == 1);
    CHECK(load_error(path, false)
              .starts_with("cannot use variables from " + path + ": it belongs to another user"));
  } else {
    MESSAGE("skipped: files of other users need root");
  }
  fs::remove_all(folder);
}
