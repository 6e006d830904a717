// Tests the line by which an agent names its build: written, found among noise, refused if broken.
#include "launcher/wire/build_line.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

TEST_CASE("the linker has given this program a build id") {
  CHECK(own_build_id().size() == 40);
  CHECK(own_build_id().find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("a build's line is found behind what a login shell prints") {
  const std::string line = build_line("0123456789abcdef");
  CHECK(build_id_in("Welcome\n" + line + "more") == "0123456789abcdef");
  CHECK(build_id_in(build_line("aa") + line) == "0123456789abcdef");
  CHECK(build_line("").empty());
}

TEST_CASE("text that is not such a line names no build") {
  CHECK_FALSE(build_id_in(""));
  CHECK_FALSE(build_id_in("dslaunch-build 0123"));
  CHECK_FALSE(
      build_id_in("\x01"
                  "dslaunch-build 0123"));
  CHECK_FALSE(
      build_id_in("\x01"
                  "dslaunch-build \x02\n"));
  CHECK_FALSE(
      build_id_in("\x01"
                  "dslaunch-build 01 rm\x02\n"));
}
