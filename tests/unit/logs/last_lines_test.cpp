// Tests of LastLines: the last lines of each rank, however the output was cut into pieces.
#include "launcher/logs/last_lines.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace ds::launcher;
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the last lines are kept apart by rank, oldest first") {
  LastLines last(2);
  last.add(0, 1, "a\nb\n");
  last.add(1, 2, "x\n");
  last.add(0, 2, "c\n");
  CHECK(last.of(0) == Lines{"a", "b", "c"});
  CHECK(last.of(1) == Lines{"x"});
  CHECK(last.of(0, 1) == Lines{"c"});
}

TEST_CASE("a silent rank has no lines; empty lines are lines") {
  LastLines last(1);
  CHECK(last.of(0).empty());
  last.add(0, 1, "");
  CHECK(last.of(0).empty());
  last.add(0, 1, "\n\na\n\n");
  CHECK(last.of(0) == Lines{"", "", "a", ""});
}

TEST_CASE("at most 20 lines and 4 KiB, of the newest, in any pieces") {
  std::string all;
  for (int i = 0; i < 1000; ++i) all += std::to_string(i) + "\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{300}, all.size()}) {
    CAPTURE(piece);
    LastLines last(1);
    for (std::size_t at = 0; at < all.size(); at += piece) last.add(0, 1, all.substr(at, piece));
    const Lines lines = last.of(0);
    REQUIRE(lines.size() == 20);
    CHECK(lines.front() == "980");
    CHECK(lines.back() == "999");
  }
}

TEST_CASE("a line whose beginning is gone is shown only if there is no other") {
  LastLines last(1);
  last.add(0, 1, std::string(5000, 'L'));
  CHECK(last.of(0) == Lines{std::string(4096, 'L')});
  last.add(0, 1, "\nshort\n");
  CHECK(last.of(0) == Lines{"short"});
}

TEST_CASE("the ring turns at every length") {
  for (std::size_t length = 1; length < 70; ++length) {
    LastLines last(1);
    std::string line(length, 'a');
    for (int i = 0; i < 500; ++i) {
      line.back() = static_cast<char>('a' + i % 26);
      last.add(0, 1, line + "\n");
    }
    const Lines lines = last.of(0);
    CAPTURE(length);
    REQUIRE(lines.size() == 20);
    CHECK(lines.back() == line);
    for (const std::string& each : lines) CHECK(each.size() == length);
  }
}

TEST_CASE("a line that stands still on one stream is no part of the other's") {
  LastLines last(1);
  last.add(0, 1, "loading");
  last.add(0, 2, "error\n");
  last.add(0, 1, " more");
  last.add(0, 1, " done\n");
  CHECK(last.of(0) == Lines{"loading", "error", " more done"});
}

TEST_CASE("of a progress line counts what it shows in the end") {
  LastLines last(1);
  last.add(0, 1, "10%\r20%\r30%\n");
  last.add(0, 1, "40%\r50%\r");
  CHECK(last.of(0) == Lines{"30%", "50%"});
}
