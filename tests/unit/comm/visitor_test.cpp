// Tests of Visitor without sockets: who is accepted, and that no peer can make it hold much memory.
#include "engine/comm/mesh/visitor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ds::comm;

namespace {

const Household kHousehold{.key = "00ff", .job = "job/0", .serves_store = true};

// Feeds any number of bytes from a socket in the portions that the Door reads.
void pour(Visitor& visitor, std::span<const std::byte> bytes) {
  while (!bytes.empty() && visitor.wanted() > 0) {
    const std::size_t count = std::min(bytes.size(), visitor.wanted());
    visitor.feed(bytes.first(count));
    bytes = bytes.subspan(count);
  }
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

// Runs a dialer that knows `key`, up to and including its proof.
void prove(Visitor& visitor, const Hello& acceptor, const std::string& key) {
  const Hello dialer = make_hello();
  pour(visitor, dialer);
  pour(visitor, make_mac(key, Side::dialer, dialer, acceptor));
}

std::vector<Frame> frames_in(std::span<const std::byte> bytes) {
  std::vector<Frame> frames;
  while (bytes.size() >= kFrameHead) {
    const std::size_t length = body_bytes(bytes).value();
    frames.push_back(decode_body(bytes.subspan(kFrameHead, length)).value());
    bytes = bytes.subspan(kFrameHead + length);
  }
  return frames;
}

}  // namespace

TEST_CASE("with the key: proof, introduction, requests") {
  const Hello acceptor = make_hello();
  Visitor visitor(kHousehold, acceptor);
  CHECK(visitor.wanted() == kHelloBytes);
  prove(visitor, acceptor, "00ff");
  CHECK(visitor.proven());
  REQUIRE(visitor.output().size() == kHelloBytes + kMacBytes);
  visitor.output().clear();
  pour(visitor, encode({FrameKind::introduce, 5, "store", "job/0"}));
  CHECK(visitor.stage() == Visitor::Stage::store);
  CHECK(frames_in(visitor.output()) == std::vector<Frame>{{FrameKind::answer, 5, "store", ""}});
  const Frame question{FrameKind::set, 6, "a key", std::string("a\0value", 7)};
  pour(visitor, encode(question));
  pour(visitor, encode(question));
  CHECK(visitor.take_questions() == std::vector<Frame>{question, question});
  CHECK(visitor.take_questions().empty());
}

TEST_CASE("a link is named, and the link's own bytes are left in its socket") {
  const Hello acceptor = make_hello();
  Visitor visitor(kHousehold, acceptor);
  prove(visitor, acceptor, "00ff");
  pour(visitor, encode({FrameKind::introduce, 0, "link world/0/1 2", "job/0"}));
  CHECK(visitor.stage() == Visitor::Stage::link);
  CHECK(visitor.link() == "world/0/1 2");
  CHECK(visitor.wanted() == 0);
}

TEST_CASE("without the key: refused, whatever else is sent") {
  for (const std::string& key : {std::string(), std::string("00fe"), std::string("00ff0")}) {
    const Hello acceptor = make_hello();
    Visitor visitor(kHousehold, acceptor);
    prove(visitor, acceptor, key);
    CHECK_FALSE(visitor.stage() == Visitor::Stage::introduction);
    CHECK(visitor.stage() == Visitor::Stage::over);
    CHECK(visitor.wanted() == 0);
    const std::vector<std::byte> refusal(visitor.output().end() - kMacBytes,
                                         visitor.output().end());
    CHECK(refusal == std::vector<std::byte>(kMacBytes));
  }
}

TEST_CASE("a proof cannot be replayed, or reflected") {
  const Hello first = make_hello();
  const Hello dialer = make_hello();
  const Mac recorded = make_mac("00ff", Side::dialer, dialer, first);
  Visitor again(kHousehold, make_hello());
  pour(again, dialer);
  pour(again, recorded);
  CHECK(again.stage() == Visitor::Stage::over);

  Visitor mirrored(kHousehold, first);
  pour(mirrored, dialer);
  pour(mirrored, make_mac("00ff", Side::acceptor, dialer, first));
  CHECK(mirrored.stage() == Visitor::Stage::over);
}

TEST_CASE("garbage ends the connection within 8 bytes") {
  Visitor visitor(kHousehold, make_hello());
  pour(visitor, bytes_of("GET / HT"));
  CHECK(visitor.stage() == Visitor::Stage::over);
  CHECK(visitor.output().empty());
}

TEST_CASE("oversized, short and malformed frames end the connection") {
  const std::vector<std::vector<std::byte>> frames = {
      bytes_of("\xff\xff\xff\xff"),                                // four gigabytes
      bytes_of(std::string("\0\0\0\0", 4)),                        // nothing
      bytes_of(std::string("\x06\0\0\0......", 10)),               // too short for a frame
      bytes_of(std::string("\x08\0\0\0\x63\0\0\0\0\0\0x", 12)),    // an unknown kind
      bytes_of(std::string("\x08\0\0\0\x02\0\0\0\0\xff\0x", 12)),  // a key longer than the frame
      encode({FrameKind::set, 0, "before the introduction", ""}),
      encode({FrameKind::introduce, 0, "neither store nor link", "job/0"}),
      encode({FrameKind::introduce, 0, "store",
              std::string(100'000, 'x')}),  // too long for an introduction
  };
  for (const std::vector<std::byte>& frame : frames) {
    const Hello acceptor = make_hello();
    Visitor visitor(kHousehold, acceptor);
    prove(visitor, acceptor, "00ff");
    REQUIRE(visitor.proven());
    pour(visitor, frame);
    CHECK(visitor.stage() == Visitor::Stage::over);
  }
}

TEST_CASE("another job, and the store of a rank without one, are refused with a reason") {
  const Household other{.key = "00ff", .job = "job/0", .serves_store = false};
  struct Row {
    Frame frame;
    const char* reason;
  };
  for (const Row& row :
       {Row{{FrameKind::introduce, 1, "link x 1", "job/1"}, "this is job job/0, not job/1"},
        Row{{FrameKind::introduce, 1, "store", "job/0"}, "this rank does not serve the store"}}) {
    const Hello acceptor = make_hello();
    Visitor visitor(other, acceptor);
    prove(visitor, acceptor, "00ff");
    visitor.output().clear();
    pour(visitor, encode(row.frame));
    CHECK(visitor.stage() == Visitor::Stage::over);
    CHECK(frames_in(visitor.output()) ==
          std::vector<Frame>{{FrameKind::refused, 1, row.frame.key, row.reason}});
  }
}
