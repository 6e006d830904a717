// Tests of the output ring: kept and dropped pieces, and pieces that wrap around.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "launcher/control/job_output.h"
#include "launcher/logs/line_batcher.h"

using namespace ds::launcher;

namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(const OutputRing::Read& read) {
  std::string text(reinterpret_cast<const char*>(read.first.data()), read.first.size());
  return text.append(reinterpret_cast<const char*>(read.second.data()), read.second.size());
}

struct Kept {
  int rank;
  std::string text;
  friend bool operator==(const Kept&, const Kept&) = default;
};

std::vector<Kept> all(const OutputRing& ring) {
  std::vector<Kept> kept;
  for (std::uint64_t at = ring.begin(); at < ring.end();) {
    const auto read = ring.at(at);
    kept.push_back({read.piece.rank, text_of(read)});
    at = read.next;
  }
  return kept;
}

}  // namespace

TEST_CASE("pieces come back in order, with rank, stream and flags") {
  OutputRing ring;
  CHECK(ring.begin() == ring.end());
  ring.append({3, 2, kOutputPartial}, bytes("ab"));
  ring.append({-1, 2, 0}, bytes("own line"));
  ring.append({4, 1, 0}, bytes(""));
  const auto first = ring.at(ring.begin());
  CHECK(first.piece.rank == 3);
  CHECK(first.piece.stream == 2);
  CHECK(first.piece.flags == kOutputPartial);
  CHECK(all(ring) == std::vector<Kept>{{3, "ab"}, {-1, "own line"}});
}

TEST_CASE("the oldest pieces make room, whole; positions only grow") {
  OutputRing ring(100);
  const std::uint64_t start = ring.begin();
  for (int i = 0; i < 10; ++i) ring.append({i, 1, 0}, bytes("0123456789"));
  const std::vector<Kept> kept = all(ring);
  REQUIRE(!kept.empty());
  CHECK(kept.size() < 10);
  CHECK(kept.back() == Kept{9, "0123456789"});
  CHECK(kept.front().rank == 10 - static_cast<int>(kept.size()));
  CHECK(ring.begin() > start);
  CHECK(ring.end() - ring.begin() <= 100);
}

TEST_CASE("longer output is kept in pieces that end with lines, or say that the line goes on") {
  OutputRing ring;
  std::string lines;
  while (lines.size() < OutputRing::kMaxPiece + 1000) lines += "a line of output\n";
  ring.append({0, 1, 0}, bytes(lines));
  const auto first = ring.at(ring.begin());
  CHECK(text_of(first).back() == '\n');
  CHECK(first.piece.flags == 0);
  std::string joined;
  for (const Kept& piece : all(ring)) joined += piece.text;
  CHECK(joined == lines);

  OutputRing other;
  other.append({0, 1, kOutputCr}, bytes(std::string(OutputRing::kMaxPiece + 1, 'x')));
  const auto part = other.at(other.begin());
  CHECK(part.piece.flags == kOutputMore);
  CHECK(other.at(part.next).piece.flags == kOutputCr);
}

TEST_CASE("any sequence of pieces: what is kept is a suffix of what was said") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    OutputRing ring(1 + OutputRing::kMaxPiece / 64 + random() % 500);
    std::vector<Kept> said;
    for (int i = 0; i < 200; ++i) {
      const std::string text(1 + random() % 300, static_cast<char>('a' + i % 26));
      ring.append({i, 1, 0}, bytes(text));
      said.push_back({i, text});
      const std::vector<Kept> kept = all(ring);
      REQUIRE(kept.size() <= said.size());
      REQUIRE(std::equal(kept.begin(), kept.end(),
                         said.end() - static_cast<std::ptrdiff_t>(kept.size())));
    }
  }
}
