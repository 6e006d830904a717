// Tests the messages of a copy on the wire, and their table in docs/protocol.md.
#include "launcher/copy/copy_frames.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "support/protocol_page.h"

using namespace ds::launcher::copy;
using ds::launcher::Bytes;

TEST_CASE("docs/protocol.md names every message of a copy") {
  CHECK(ds::test::rows_of_page("## Copies", "## Vectors") ==
        ds::test::rows_of_description(describe_copy_frames()));
}

TEST_CASE("a message comes out as it went in, in any pieces") {
  CopyEntry entry;
  entry.id = 3;
  entry.kind = EntryKind::link;
  entry.path = "a\nb";
  entry.link = "/etc";
  Bytes bytes;
  encode(bytes, entry);
  encode(bytes, CopyListed{"no"});
  CopyDecoder decoder;
  std::vector<CopyMessage> messages;
  for (const std::byte& byte : bytes) {
    decoder.feed(std::span(&byte, 1));
    while (auto message = decoder.next()) messages.push_back(*message);
  }
  REQUIRE(messages.size() == 2);
  CHECK(std::get<CopyEntry>(messages[0]) == entry);
  CHECK(std::get<CopyListed>(messages[1]).problem == "no");
  CHECK_FALSE(decoder.error());
}

TEST_CASE("a message ends with a newline, so that the agent passes it on at once") {
  Bytes bytes;
  encode(bytes, CopyServes{1});
  CHECK(bytes.back() == std::byte{'\n'});
}

TEST_CASE("broken messages are one error") {
  for (const std::string text : {"\xff\xff\xff\xff\x01", "hello world", "\x03\0\0\0\x0c\n\n"}) {
    CopyDecoder decoder;
    decoder.feed(std::as_bytes(std::span(text)));
    CHECK_FALSE(decoder.next());
    CHECK(decoder.error().has_value() == (text.size() > 7 || text[0] == '\xff'));
  }
}

TEST_CASE("a piece has room, and a longer one is refused") {
  Bytes bytes;
  encode(bytes, CopyData{1, 2, Bytes(kPieceBytes)});
  CHECK_THROWS_AS(encode(bytes, CopyData{1, 2, Bytes(2 * kPieceBytes)}), ds::Error);
}

TEST_CASE("the length of a message tells whether it can be encoded") {
  CopyTask task{.gather = true};
  const std::size_t empty = message_bytes(task);
  task.paths = {std::string(kMaxMessageBytes, 'a')};
  const std::size_t more = message_bytes(task) - kMaxMessageBytes - empty;  // for the text's length
  task.paths = {std::string(kMaxMessageBytes - empty - more, 'a')};
  Bytes bytes;
  encode(bytes, task);
  CHECK(bytes.size() == kMaxMessageBytes + 4);
  task.paths[0] += 'a';
  CHECK(message_bytes(task) == kMaxMessageBytes + 1);
  CHECK_THROWS_AS(encode(bytes, task), ds::Error);
}
