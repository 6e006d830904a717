// Tests of Redactor: values are found anywhere in a line, however it is cut.
#include "launcher/logs/redactor.h"

#include <doctest/doctest.h>

using namespace ds::launcher;

namespace {

/// The text in pieces of `size` bytes.
std::string in_pieces(Redactor& redactor, const std::string& text, std::size_t size) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += size) {
    const std::string piece = text.substr(at, size);
    shown += redactor.pass(0, 1, piece, at + size >= text.size());
  }
  return shown;
}

}  // namespace

TEST_CASE("a value is replaced however the line is cut") {
  const std::string text = "a hunter22 b=hunter2 hunter23hunter2\nhunt\nhunter";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    Redactor redactor({"hunter2", "hunter22"});
    CHECK(in_pieces(redactor, text, size) == "a *** b=*** ***3***\nhunt\nhunter");
  }
}

TEST_CASE("the longest value wins, equal ones count once") {
  Redactor redactor({"secret", "secret-key", "secret"});
  CHECK(redactor.clean("secret secret-key secret-ke") == "*** *** ***-ke");
}

TEST_CASE("a value that begins inside of what looks like another") {
  Redactor redactor({"ababac", "babacx"});
  CHECK(redactor.clean("abababac") == "ab***");
  for (std::size_t size = 1; size < 8; ++size) {
    Redactor cut({"ababac", "babacx"});
    CHECK(in_pieces(cut, "abababac", size) == "ab***");
  }
}

TEST_CASE("short values are left alone; of several lines each is a value") {
  CHECK_FALSE(Redactor({"on", "12345", ""}).active());
  Redactor redactor({"-----BEGIN\nabcdefgh\nxyz"});
  CHECK(redactor.clean("abcdefgh\n-----BEGIN xyz") == "***\n*** xyz");
}

TEST_CASE("streams and ranks are apart") {
  Redactor redactor({"hunter2"});
  CHECK(redactor.pass(0, 1, "hun", false).empty());
  CHECK(redactor.pass(0, 2, "ter2\n", false) == "ter2\n");
  CHECK(redactor.pass(1, 1, "ter2\n", false) == "ter2\n");
  CHECK(redactor.pass(0, 1, "ter2\n", false) == "***\n");
  CHECK(redactor.pass(0, 1, "hunt", false).empty());
  CHECK(redactor.pass(0, 1, "", true) == "hunt");
}
