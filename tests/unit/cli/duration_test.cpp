// Tests of the parser for durations.
#include <doctest/doctest.h>

#include "launcher/cli/option_table.h"

using ds::launcher::parse_duration;
using namespace std::chrono_literals;

TEST_CASE("durations with and without a unit") {
  struct Row {
    const char* text;
    std::chrono::milliseconds span;
  };
  const Row rows[] = {{"10", 10s},       {"10s", 10s},      {"500ms", 500ms}, {"2m", 120s},
                      {"1h", 3600s},     {"0", 0ms},        {"8760h", 8760h}, {"2.2", 2200ms},
                      {"1.5s", 1500ms},  {"0.5m", 30s},     {"0.25h", 900s},  {"0.0", 0ms},
                      {"1.0004", 1000ms}, {"0.0001", 1ms}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_duration(row.text) == row.span);
  }
}

TEST_CASE("anything else is refused") {
  for (const char* text : {"", "s", "-1", "+1", ".5", "1.", "1.s", "1.5.5", "1e3", "inf", "nan",
                           "1,5", "1 s", " 1", "1d", "1S", "1ss", "8761h", "8760.1h",
                           "99999999999999999999", "9223372036854775807h"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}
