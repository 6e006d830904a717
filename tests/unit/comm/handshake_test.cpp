// Tests of Handshake without sockets: who is accepted, and what a peer without the key learns.
#include "engine/comm/mesh/handshake.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ds::comm;

namespace {

const Membership kHolder{.key = "00ff", .job = "job/0"};
using Stage = Handshake::Stage;

// Feeds bytes message by message; returns all that is written.
std::vector<std::byte> pour(Handshake& handshake, std::span<const std::byte> bytes) {
  std::vector<std::byte> output;
  while (handshake.wanted() > 0 && bytes.size() >= handshake.wanted()) {
    const auto message = bytes.first(handshake.wanted());
    bytes = bytes.subspan(message.size());
    std::ranges::copy(handshake.take(message), std::back_inserter(output));
  }
  return output;
}

// Runs a dialer that signs `note` with `key`. Returns the acceptor's answer, and sets `own` to what
// the acceptor would sign without a refusal.
SignedNote talk(Handshake& handshake, const Hello& acceptor, const std::string& key,
                const std::string& note, const std::string& answer, SignedNote& expected) {
  const Hello dialer = make_hello();
  CHECK(pour(handshake, dialer) == std::vector<std::byte>(acceptor.begin(), acceptor.end()));
  const SignedNote proof = sign(note, key, Side::dialer, dialer, acceptor);
  const auto output = pour(handshake, std::as_bytes(std::span(&proof, 1)));
  expected = sign(answer, "00ff", Side::acceptor, dialer, acceptor);
  SignedNote got;
  REQUIRE(output.size() == sizeof got);
  std::ranges::copy(output, std::as_writable_bytes(std::span(&got, 1)).begin());
  return got;
}

struct Row {
  std::string note, refusal;
  bool is_rank_0 = true;
};

}  // namespace

TEST_CASE("with the key: clients of the coordinator and links are accepted, others get a reason") {
  for (const Row& row : {Row{"coordinator\njob/0", ""}, Row{"link world/0/1 2\njob/0", "", false},
                         Row{"coordinator\njob/0", "this rank is not rank 0", false},
                         Row{"link x 1\njob/1", "this is job job/0, not job/1"},
                         Row{"link x 1\njob/0 ", "this is job job/0, not job/0 "},
                         Row{"neither", "this is job job/0, not "},
                         Row{"neither\njob/0", "unknown purpose 'neither'"}}) {
    CAPTURE(row.note);
    const Hello acceptor = make_hello();
    Handshake handshake(kHolder, row.is_rank_0, acceptor);
    SignedNote expected;
    CHECK(talk(handshake, acceptor, "00ff", row.note, row.refusal, expected) == expected);
    CHECK(handshake.stage() == (row.refusal.empty() ? Stage::accepted : Stage::refused));
    CHECK(handshake.purpose() == row.note.substr(0, row.note.find('\n')));
    CHECK(handshake.wanted() == 0);  // what follows is left in the socket
  }
}

TEST_CASE("without the key: refused, whatever else is sent") {
  for (const std::string& key : {std::string(), std::string("00fe"), std::string("00ff0")}) {
    const Hello acceptor = make_hello();
    Handshake handshake(kHolder, true, acceptor);
    SignedNote unused;
    CHECK(talk(handshake, acceptor, key, "coordinator\njob/0", "", unused) == SignedNote());
    CHECK(handshake.stage() == Stage::refused);
    CHECK(handshake.wanted() == 0);
  }
}

TEST_CASE("a proof cannot be replayed, reflected, or used with another note") {
  const Hello first = make_hello(), dialer = make_hello();
  const SignedNote recorded = sign("coordinator\njob/0", "00ff", Side::dialer, dialer, first);
  SignedNote changed = recorded;
  changed.text[0] = 'x';
  SignedNote tail = recorded;
  tail.text.back() = 'x';
  const auto stage_of = [&](const Hello& acceptor, const SignedNote& note) {
    Handshake handshake(kHolder, true, acceptor);
    pour(handshake, dialer);
    pour(handshake, std::as_bytes(std::span(&note, 1)));
    return handshake.stage();
  };
  CHECK(stage_of(first, recorded) == Stage::accepted);
  CHECK(stage_of(make_hello(), recorded) == Stage::refused);
  CHECK(stage_of(first, changed) == Stage::refused);
  CHECK(stage_of(first, tail) == Stage::refused);
  const SignedNote mirrored = sign("coordinator\njob/0", "00ff", Side::acceptor, dialer, first);
  CHECK(stage_of(first, mirrored) == Stage::refused);
}

TEST_CASE("garbage as long as a hello ends the connection, without an answer") {
  Handshake handshake(kHolder, true, make_hello());
  const std::string text = "GET / HTTP/1.1\r\nHost: node01:29500\r\nAccept: */*\r\n\r\n";
  CHECK(pour(handshake, std::as_bytes(std::span(text))).empty());
  CHECK(handshake.stage() == Stage::refused);
}
