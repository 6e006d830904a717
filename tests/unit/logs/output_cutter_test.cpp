// Tests of OutputCutter: the pieces equal the whole and end at newlines where they can.
#include <doctest/doctest.h>

#include <string>

#include "launcher/logs/line_batcher.h"

namespace {

using namespace ds::launcher;

/// "flags|text" of each piece.
std::string pieces(std::string_view text, int flags, std::size_t limit) {
  const Output whole{.rank = 7,
                     .stream = 2,
                     .flags = static_cast<std::uint8_t>(flags),
                     .time = 99,
                     .bytes = std::as_bytes(std::span(text))};
  OutputCutter cutter(whole, limit);
  std::string all;
  while (const auto piece = cutter.next()) {
    CHECK(piece->rank == 7);
    CHECK(piece->stream == 2);
    CHECK(piece->time == 99);
    if (!all.empty()) all += ' ';
    all += std::to_string(piece->flags) + '|';
    all.append(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
  }
  return all;
}

constexpr int kInside = Output::kPartial | Output::kMore;

}  // namespace

TEST_CASE("what fits stays as it is") {
  CHECK(pieces("ab\n", 0, 3) == "0|ab\n");
  CHECK(pieces("", Output::kLast, 3) == "8|");
  CHECK(pieces("ab", Output::kPartial, 5) == "1|ab");
}

TEST_CASE("lines stay whole where they fit, longer ones are marked") {
  CHECK(pieces("ab\ncd\nef\n", 0, 7) == "0|ab\ncd\n 0|ef\n");
  CHECK(pieces("ab\ncd\nef\n", 0, 6) == "0|ab\ncd\n 0|ef\n");
  CHECK(pieces("abcdefg\nh\n", 0, 3) == "5|abc 5|def 0|g\n 0|h\n");
  CHECK(pieces("\n\n\n", 0, 1) == "0|\n 0|\n 0|\n");
}

TEST_CASE("the last piece says how the whole one ends") {
  CHECK(pieces("ab\ncd", kInside | Output::kLast, 4) == "0|ab\n 13|cd");
  CHECK(pieces("abcd\r", Output::kPartial | Output::kProgress, 3) == "5|abc 3|d\r");
}
