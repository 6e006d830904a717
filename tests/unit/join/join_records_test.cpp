// Tests join records: round trips in any pieces, other versions, damaged bytes.
#include "launcher/join/join_records.h"

#include <doctest/doctest.h>

#include <random>

#include "support/protocol_page.h"

namespace ds::launcher {
namespace {

const Bytes kText(300, std::byte{7});

std::vector<JoinRecord> samples() {
  JoinHello hello{.job = "gpt", .place = "gpt-1.gpt", .uid = "u", .started = 7, .next_epoch = 3};
  hello.node.hostname = "gpt-1";
  hello.node.devices = {"0", "1"};
  return {hello,
          JoinLeaving{15},
          JoinWelcome{"gpt-0"},
          JoinRefused{true, 69, "why"},
          StartAgent{4},
          JoinNews{"2 of 4 nodes are here"},
          JoinOver{143, "{}"},
          AgentBytes{4, kText},
          AgentClosed{4, "the agent was lost"},
          JoinPing{}};
}

TEST_CASE("every record comes back as it went, in pieces of any size") {
  for (const std::size_t piece : {1U, 3U, 1000U}) {
    JoinDecoder decoder;
    for (const JoinRecord& record : samples()) {
      const Bytes bytes = encode_join(record);
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        CHECK_FALSE(decoder.next());
        decoder.feed(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
      }
      const auto back = decoder.next();
      REQUIRE(back);
      CHECK(back->index() == record.index());
      CHECK(encode_join(*back) == bytes);
    }
    CHECK_FALSE(decoder.error());
  }
}

TEST_CASE("docs/protocol.md names every record and field, in order, and no other") {
  CHECK(ds::test::rows_of_page("## Nodes that dial in", "## Lines to") ==
        ds::test::rows_of_description(describe_join()));
}

TEST_CASE("a JoinHello of another version gives its version, job and place") {
  Bytes bytes = encode_join(JoinHello{.job = "gpt", .place = "gpt-1"});
  bytes[5] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[5]) ^ 1U);
  bytes.insert(bytes.end(), 2, std::byte{9});
  bytes[0] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[0]) + 2);
  JoinDecoder decoder;
  decoder.feed(bytes);
  const auto got = decoder.next();
  REQUIRE(got);
  const JoinHello& hello = std::get<JoinHello>(*got);
  CHECK(hello.version != kJoinVersion);
  CHECK(hello.job == "gpt");
  CHECK(hello.place == "gpt-1");
}

TEST_CASE("nonsense is one reason, and nothing comes after it") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 2000; ++turn) {
    Bytes bytes;
    for (const JoinRecord& record : samples()) {
      const Bytes one = encode_join(record);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    JoinDecoder decoder;
    decoder.feed(bytes);
    while (decoder.next()) {
    }
    if (decoder.error()) {
      decoder.feed(bytes);
      CHECK_FALSE(decoder.next());
    }
  }
  JoinDecoder decoder;
  decoder.feed(Bytes(5, std::byte{0xff}));
  CHECK_FALSE(decoder.next());
  CHECK(decoder.error());
}

}  // namespace
}  // namespace ds::launcher
