// Tests of nearest_word(): close words are suggested, distant ones are not.
#include "engine/base/nearest_word.h"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

TEST_CASE("a mistyped word finds the known one, and nonsense finds none") {
  constexpr std::array<std::string_view, 4> kKnown = {"slots", "port", "user", "learning_rate"};
  struct Row {
    const char* typed;
    const char* nearest;
  };
  const Row rows[] = {
      {"slot", "slots"},  {"solts", "slots"}, {"SLOTS", "slots"},
      {"prot", "port"},   {"usr", "user"},    {"gpus", ""},
      {"", ""},           {"x", ""},          {"lerning_rat", "learning_rate"},
      {"completely", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.typed);
    CHECK(ds::nearest_word(row.typed, kKnown) == row.nearest);
  }
  CHECK(ds::nearest_word(std::string(100000, 'a'), kKnown).empty());
}
