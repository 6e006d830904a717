// Tests of Spool: output leaves in order, whether it waited in memory or on disk.
#include "launcher/logs/spool.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <string>

namespace {

using namespace ds::launcher;

void push(Spool& spool, int rank, std::string_view text, int flags = 0) {
  spool.push({.rank = rank,
              .stream = 2,
              .flags = static_cast<std::uint8_t>(flags),
              .time = static_cast<std::uint64_t>(rank) + 1,
              .bytes = std::as_bytes(std::span(text))});
}

std::string take(Spool& spool) {
  const auto output = spool.front();
  if (!output) return "(none)";
  CHECK(output->time == static_cast<std::uint64_t>(output->rank) + 1);
  CHECK(output->stream == 2);
  std::string text = std::to_string(output->rank) + "|" + std::to_string(output->flags) + "|";
  text.append(reinterpret_cast<const char*>(output->bytes.data()), output->bytes.size());
  spool.pop();
  return text;
}

/// Points TMPDIR at a place for as long as it lives.
struct TemporaryFolder {
  explicit TemporaryFolder(const char* folder) { ::setenv("TMPDIR", folder, 1); }
  ~TemporaryFolder() { ::unsetenv("TMPDIR"); }
};

constexpr std::uint64_t kMiB = 1 << 20;

}  // namespace

TEST_CASE("first in, first out, with rank, stream, flags and time") {
  Spool spool(kMiB, false);
  CHECK(take(spool) == "(none)");
  push(spool, 3, "a\n");
  push(spool, 4, "", 8);
  CHECK_FALSE(spool.empty());
  CHECK(take(spool) == "3|0|a\n");
  CHECK(take(spool) == "4|8|");
  CHECK(spool.empty());
  CHECK(take(spool) == "(none)");
}

TEST_CASE("any amount comes back in order, through memory and disk") {
  std::mt19937 random(3);
  Spool spool(200 * kMiB, false);
  std::deque<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    const bool fill = i < 900 || random() % 2 == 0;
    if (fill) {
      const std::string text(random() % 100000, static_cast<char>('a' + i % 26));
      push(spool, i, text);
      expected.push_back(std::to_string(i) + "|0|" + text);
    } else if (!expected.empty()) {
      REQUIRE(take(spool) == expected.front());
      expected.pop_front();
    }
  }
  CHECK(spool.size() > Spool::kMemory);
  for (; !expected.empty(); expected.pop_front()) REQUIRE(take(spool) == expected.front());
  CHECK(spool.empty());
  CHECK(spool.take_dropped() == 0);
}

TEST_CASE("a spool that keeps all says when it is full") {
  Spool spool(kMiB, false);
  const std::string text(300000, 'x');
  int pushed = 0;
  for (; !spool.full(); ++pushed) push(spool, pushed, text);
  CHECK(pushed == 4);
  take(spool);
  CHECK_FALSE(spool.full());
}

TEST_CASE("a spool that drops keeps the newest lines and counts the others") {
  Spool spool(4 * kMiB, true);
  std::uint64_t lines = 0;
  for (int i = 0; i < 100; ++i) {
    push(spool, i, std::string(99999, 'x') + "\n");
    push(spool, i, "second\n");
    lines += 2;
    CHECK_FALSE(spool.full());
    CHECK(spool.size() <= 4 * kMiB);
  }
  const std::uint64_t dropped = spool.take_dropped();
  CHECK(dropped > 100);
  CHECK(spool.take_dropped() == 0);
  std::uint64_t left = 0;
  std::string last;
  for (std::string text; (text = take(spool)) != "(none)"; ++left) last = text;
  CHECK(left + dropped == lines);
  CHECK(last == "99|0|second\n");
}

TEST_CASE("what has been read is not counted as dropped") {
  Spool spool(kMiB, true);
  for (int i = 0; i < 10; ++i) push(spool, i, "line\n");
  for (int i = 0; i < 4; ++i) take(spool);
  spool.discard();
  CHECK(spool.empty());
  CHECK(spool.take_dropped() == 6);
  push(spool, 1, "more\n");
  CHECK(take(spool) == "1|0|more\n");
}

TEST_CASE("without a disk the memory is all there is") {
  const TemporaryFolder nowhere("/nonexistent");
  Spool spool(200 * kMiB, false);
  const std::string text(500000, 'x');
  int pushed = 0;
  while (!spool.full() && pushed < 1000) push(spool, pushed++, text);
  CHECK(pushed > 30);
  CHECK(pushed < 45);
  for (int i = 0; i < pushed; ++i) CHECK(take(spool) == std::to_string(i) + "|0|" + text);
  CHECK_FALSE(spool.full());
}
