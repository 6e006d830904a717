// Tests of printable_text() on text from outside.
#include "engine/base/text_error.h"

#include <doctest/doctest.h>

TEST_CASE("control bytes are shown as question marks, long text is cut between characters") {
  CHECK(ds::printable_text("a\x1b[31m\tb\x7f\n") == "a?[31m\tb??");
  CHECK(ds::printable_text("abcdef", 3) == "abc...");
  CHECK(ds::printable_text("abc", 3) == "abc");
  CHECK(ds::printable_text("a\xc3\xa9z", 2) == "a...");
}
