// What a percent sign stands for, and when it stands for itself.
#include "launcher/exec/percent.h"

#include <doctest/doctest.h>

using ds::launcher::exec::fill_percents;

TEST_CASE("host, number and user are filled in once") {
  const auto fill = [](std::string_view text) { return fill_percents(text, "n%n", 12, "ann"); };
  CHECK(fill("echo %h") == "echo n%n");
  CHECK(fill("%n-%u-%h") == "12-ann-n%n");
  CHECK(fill("date +%%H:%%M") == "date +%H:%M");
  CHECK(fill("date +%H %s") == "date +%H %s");
  CHECK(fill("%%h") == "%h");
  CHECK(fill("100%") == "100%");
  CHECK(fill("").empty());
}
