// Tests cookies: text, parsing, and search in an environment.
#include <doctest/doctest.h>

#include "launcher/agent/leftovers.h"

using namespace ds::launcher;
using namespace std::string_literals;

TEST_CASE("a cookie comes back from its text") {
  const Cookie cookie{"00ff.x", 4711, 123456789012};
  CHECK(cookie.text() == "00ff.x.4711.123456789012");
  CHECK(Cookie::parse(cookie.text()) == cookie);
}

TEST_CASE("what is no cookie is none") {
  for (const char* text : {"", ".", "..", "a", "a.1", ".1.2", "a.1.", "a..2", "a.1.2 ", "a.x.2",
                           "a.-1.2", "a.0.2", "a.1.0", "a.99999999999.2"}) {
    CAPTURE(text);
    CHECK_FALSE(Cookie::parse(text));
  }
}

TEST_CASE("a cookie is looked for at the beginning of an entry") {
  CHECK(cookie_in_environment("A=1\0DSLAUNCH_COOKIE=j.2.3\0B=2\0"s) == Cookie{"j", 2, 3});
  CHECK(cookie_in_environment("DSLAUNCH_COOKIE=j.2.3"s) == Cookie{"j", 2, 3});
  CHECK_FALSE(cookie_in_environment("XDSLAUNCH_COOKIE=j.2.3\0"s));
  CHECK_FALSE(cookie_in_environment("A=DSLAUNCH_COOKIE=j.2.3\0"s));
  CHECK_FALSE(cookie_in_environment("DSLAUNCH_COOKIE=\0"s));
  CHECK_FALSE(cookie_in_environment("\0\0"s));
  CHECK_FALSE(cookie_in_environment(""));
}
