// Tests the version of the protocol: it follows the field lists, and docs/protocol.md repeats them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"
#include "launcher/wire/fields.h"
#include "support/protocol_page.h"

using namespace ds::launcher;

TEST_CASE("docs/protocol.md names every message and field, in order, and no other") {
  CHECK(ds::test::rows_of_page("# Frames", "## Nodes that dial in") ==
        ds::test::rows_of_description(describe_frames()));
}

TEST_CASE("any change of a field list changes the version") {
  const std::string text = describe_frames();
  CHECK(version_of(text) != version_of(text + "43 New: u8 field\n"));
  for (const std::string field : {"u32 umask", "wait_status", "up to 2 isolate"}) {
    CAPTURE(field);
    std::string other = text;
    const std::size_t at = other.find(field);
    REQUIRE(at != std::string::npos);
    other.erase(at, field.size());
    CHECK(version_of(text) != version_of(other));
  }
  CHECK(kWireVersion > 1000);  // not a number that somebody counts up
}

TEST_CASE("a Hello of another version gives its version and build") {
  // As the builds before versions were hashes sent it, and one of the future with other fields.
  for (const std::uint32_t version : {1U, kWireVersion + 1}) {
    CAPTURE(version);
    Bytes frame = encode({}, Hello{.build = "9.9", .hostname = "node"});
    for (std::size_t i = 0; i < 4; ++i)
      frame[kFrameHeaderBytes + i] = static_cast<std::byte>(version >> (8 * i));
    frame.insert(frame.end(), 3, std::byte{7});
    frame[0] = static_cast<std::byte>(frame.size() - kFrameHeaderBytes);
    Decoder decoder;
    decoder.feed(frame);
    const auto got = decoder.next();
    REQUIRE(got);
    const Hello& hello = std::get<Hello>(got->message);
    CHECK(hello.version == version);
    CHECK(hello.build == "9.9");
    CHECK(hello.hostname.empty());
    CHECK(decoder.at_boundary());
  }
}

TEST_CASE("a Hello of this version must fill its frame") {
  Bytes frame = encode({}, Hello{.build = "9.9"});
  frame.push_back(std::byte{0});
  frame[0] = static_cast<std::byte>(frame.size() - kFrameHeaderBytes);
  Decoder decoder;
  decoder.feed(frame);
  CHECK_FALSE(decoder.next());
  CHECK(decoder.error());
}
