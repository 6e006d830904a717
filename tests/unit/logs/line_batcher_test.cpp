// Tests of LineBatcher: whole lines leave at once; unfinished lines leave when old or too long.
#include "launcher/logs/line_batcher.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using namespace ds::launcher;

const ds::Clock::time_point kT0{1h};

void feed(LineBatcher& batcher, std::string_view text, ds::Clock::time_point now = kT0) {
  const auto space = batcher.space();
  REQUIRE(space.size() >= text.size());
  std::memcpy(space.data(), text.data(), text.size());
  batcher.added(text.size(), now);
}

std::string text_of(const std::optional<LineBatch>& batch) {
  if (!batch) return "(none)";
  return std::string(reinterpret_cast<const char*>(batch->bytes.data()), batch->bytes.size()) +
         "|" + std::to_string(batch->flags);
}

}  // namespace

TEST_CASE("whole lines leave together, the rest waits for its newline") {
  LineBatcher batcher(64);
  feed(batcher, "one\ntwo\nthr");
  CHECK(text_of(batcher.take(kT0)) == "one\ntwo\n|0");
  CHECK(text_of(batcher.take(kT0)) == "(none)");
  feed(batcher, "ee\n");
  CHECK(text_of(batcher.take(kT0)) == "three\n|0");
  CHECK_FALSE(batcher.wake_at());
}

TEST_CASE("a partial line leaves 250 ms after its first byte") {
  LineBatcher batcher(64);
  feed(batcher, "done\npass", kT0);
  CHECK(text_of(batcher.take(kT0)) == "done\n|0");
  feed(batcher, "word:", kT0 + 200ms);
  CHECK(text_of(batcher.take(kT0 + 249ms)) == "(none)");
  CHECK(batcher.wake_at() == kT0 + 250ms);
  CHECK(text_of(batcher.take(kT0 + 250ms)) == "password:|1");
  feed(batcher, "x", kT0 + 300ms);
  CHECK(batcher.wake_at() == kT0 + 550ms);
}

TEST_CASE("the age of a partial line starts anew after each newline") {
  LineBatcher batcher(64);
  feed(batcher, "ab", kT0);
  feed(batcher, "c\nd", kT0 + 200ms);
  CHECK(text_of(batcher.take(kT0 + 200ms)) == "abc\n|0");
  CHECK(text_of(batcher.take(kT0 + 300ms)) == "(none)");
  CHECK(text_of(batcher.take(kT0 + 450ms)) == "d|1");
}

TEST_CASE("a line does not stand still because nobody reads on") {
  LineBatcher batcher(64);
  feed(batcher, "begin", kT0);
  batcher.read_on(kT0 + 10s);
  CHECK(text_of(batcher.take(kT0 + 10s)) == "(none)");
  CHECK(batcher.wake_at() == kT0 + 10s + 250ms);
  feed(batcher, "ning\n", kT0 + 10s);
  CHECK(text_of(batcher.take(kT0 + 10s)) == "beginning\n|0");
}

TEST_CASE("a progress line is marked") {
  LineBatcher batcher(64);
  feed(batcher, "10%\r");
  CHECK(text_of(batcher.take(kT0 + 250ms)) == "10%\r|3");
}

TEST_CASE("a line longer than the buffer leaves in pieces that say so") {
  LineBatcher batcher(4);
  feed(batcher, "abcd");
  CHECK(text_of(batcher.take(kT0)) == "abcd|5");
  feed(batcher, "ef\n");
  CHECK(text_of(batcher.take(kT0)) == "ef\n|0");
}

TEST_CASE("space is never empty once everything was taken that can be") {
  LineBatcher batcher(8);
  feed(batcher, "1\n345678");
  CHECK(text_of(batcher.take(kT0)) == "1\n|0");
  CHECK(text_of(batcher.take(kT0)) == "(none)");
  CHECK(batcher.space().size() == 2);
}

TEST_CASE("the end of the stream gives the rest, and nothing when there is none") {
  LineBatcher batcher(64);
  CHECK(text_of(batcher.take_rest()) == "(none)");
  feed(batcher, "a\nb");
  CHECK(text_of(batcher.take(kT0)) == "a\n|0");
  CHECK(text_of(batcher.take_rest()) == "b|1");
  CHECK(text_of(batcher.take_rest()) == "(none)");
}
