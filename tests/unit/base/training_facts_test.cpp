// What ranks must have in common, as one line of text, and how two of them differ.
#include "engine/base/training_facts.h"

#include <doctest/doctest.h>

using namespace ds;

TEST_CASE("lines become one line, whatever they contain") {
  CHECK(one_line_of_facts("a = 1\nb = 50%\n") == "a = 1%nb = 50%%%n");
  CHECK(one_line_of_facts("a = \x1b\x7f\xff") == "a = ??\xff");
  CHECK(one_line_of_facts("").empty());
}

TEST_CASE("only names whose values differ are told, in order") {
  const std::string here = one_line_of_facts("b = 50%n\na = 1\nc = x = y\n");
  CHECK(fact_differences(here, here).empty());
  CHECK(fact_differences(here, one_line_of_facts("c = x = z\nd = 2\na = 1\n")) ==
        std::vector<FactDifference>{
            {"b", "50%n", ""}, {"c", "x = y", "x = z"}, {"d", "", "2"}});
  CHECK(fact_differences("", "").empty());
}

TEST_CASE("the value of a name") {
  const std::string line = one_line_of_facts("a = 1\nsaves states = not on signals\n");
  CHECK(fact_value(line, kSavesFact) == kNotOnSignals);
  CHECK(fact_value(line, kKeepsFact).empty());
}

TEST_CASE("any text is a list") {
  for (const char* text : {"%", "%%", "%n%n", "a", "a =", " = ", "a = 1%", "%na = 1"})
    CHECK(fact_differences(text, text).empty());
  CHECK(fact_differences("%na = 1", "a = 1%n").empty());
}
