// Tests the messages of the rank channel: round trips, refused texts, and docs/protocol.md.
#include "engine/base/rank_message.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "support/read_file.h"

using namespace ds;

namespace {

/// Returns the part of docs/protocol.md on the rank channel.
std::string page_section() {
  const std::string page = test::read_source("docs/protocol.md");
  const std::size_t begin = page.find("## The rank channel\n");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

}  // namespace

TEST_CASE("a rank message is one line of words") {
  CHECK(encode(StepDone{.step = 12, .steps = 100, .micros = 81234, .kept = 11}) ==
        "step 12 100 81234 11");
  CHECK(encode(KeepFile{4096, "own.0"}) == "keep 4096 own.0");
  CHECK(encode(PauseOrder{}) == "pause");
  CHECK(encode(CheckpointTold{"checkpoint: step 4\nfailed"}) ==
        "checkpoint checkpoint: step 4?failed");
}

TEST_CASE("a long line of a checkpoint is cut to one datagram") {
  const std::string text = encode(CheckpointTold{std::string(2 * kMaxRankMessage, 'x')});
  CHECK(text.size() == kMaxRankMessage);
  CHECK(parse_rank_message(text));
  CHECK_FALSE(parse_rank_message(text + 'x'));
}

TEST_CASE("other texts are not rank messages") {
  for (const char* text : {"",
                           " ",
                           "stop",
                           "step",
                           "step 1 2 3",
                           "step 1 2 3 4 5",
                           "step 1 2 3 x",
                           "step 01 2 3 4",
                           "step 1 2 3 4 ",
                           "step  1 2 3 4",
                           "step 1 2 3 99999999999999999999",
                           "save now",
                           "save ",
                           "keep 1",
                           "keep 1 a b",
                           "keep 1 a\n",
                           "keep x a",
                           "held",
                           "held a b",
                           "not_held a",
                           "phase",
                           "phase ",
                           "phase a b",
                           "phase \x1b",
                           "checkpoint",
                           "checkpoint a\x1b",
                           "kept? -0"})
    CHECK_MESSAGE(!parse_rank_message(text), text);
  CHECK_FALSE(parse_rank_message(std::string("save\0", 5)));
  CHECK_FALSE(parse_rank_message("drop " + std::string(kMaxKeptName + 1, 'n')));
  CHECK(parse_rank_message("drop " + std::string(kMaxKeptName, 'n')));
}

TEST_CASE("docs/protocol.md lists every rank message and its fields") {
  const std::string section = page_section();
  std::istringstream rows(describe_rank_messages());
  int count = 0;
  for (std::string row; std::getline(rows, row); ++count) {
    const std::size_t colon = row.find(':');
    const std::string fields = row.substr(colon + 1);
    const std::string expected = "\n| `" + row.substr(0, colon) + "` |" + fields + " |";
    CHECK_MESSAGE(section.find(expected) != std::string::npos, expected);
  }
  CHECK(count == static_cast<int>(std::variant_size_v<RankMessage>));
}

TEST_CASE("the vectors of docs/protocol.md are rank messages, at least one of each kind") {
  const std::string section = page_section();
  const std::string fence = "```rank-messages\n";
  const std::size_t begin = section.find(fence) + fence.size();
  REQUIRE(begin >= fence.size());
  std::istringstream lines(section.substr(begin, section.find("```", begin) - begin));
  std::set<std::size_t> kinds;
  for (std::string line; std::getline(lines, line);) {
    const auto message = parse_rank_message(line);
    REQUIRE_MESSAGE(message, line);
    CHECK(encode(*message) == line);
    kinds.insert(message->index());
  }
  CHECK(kinds.size() == std::variant_size_v<RankMessage>);
}
