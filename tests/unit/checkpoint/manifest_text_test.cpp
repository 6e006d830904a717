// Tests of manifest and part texts: round trips, changed bytes, and refusal of every invalid
// content.
#include "engine/checkpoint/manifest_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "engine/base/error.h"
#include "engine/checkpoint/text_form.h"
#include "unit/checkpoint/folder.h"
#include "unit/checkpoint/samples.h"

using namespace ds;
using namespace ds::test;

namespace {

/// Returns the message of the refusal; empty if the text is accepted.
std::string refusal(const std::string& text) {
  try {
    parse_manifest(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return {};
}

/// Returns `text` with a valid checksum, as if it had been written so.
std::string resealed(const std::string& text) {
  const std::string body = text.substr(0, text.rfind(kSealBefore));
  return body + std::string(kSealBefore) + checksum_of_text(body) + std::string(kSealAfter);
}

std::string with(std::string text, std::string_view part, std::string_view instead) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return resealed(text.replace(at, part.size(), instead));
}

std::string refusal_of(const std::function<void(Manifest&)>& change) {
  Manifest manifest = small_manifest();
  change(manifest);
  return refusal(manifest_text(manifest));
}

Piece& piece(Manifest& manifest) { return manifest.tensors[0].states[0].pieces[0]; }

}  // namespace

TEST_CASE("a written manifest reads back the same") {
  CHECK(parse_manifest(manifest_text(small_manifest())) == small_manifest());
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Manifest manifest = random_manifest(seed);
    CAPTURE(seed);
    REQUIRE(parse_manifest(manifest_text(manifest)) == manifest);
  }
}

TEST_CASE("parts read back the same, and joining them gives the manifest") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Manifest manifest = random_manifest(seed);
    CAPTURE(seed);
    Manifest head = manifest;
    std::vector<ChunkPart> parts = take_apart(head);
    for (ChunkPart& part : parts) REQUIRE(parse_part(part_text(part)) == part);
    std::ranges::reverse(parts);
    REQUIRE(join_parts(head, parts) == manifest);
  }
}

TEST_CASE("every changed byte and every truncation is detected") {
  const std::string text = manifest_text(small_manifest());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = text;
      broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
      REQUIRE_MESSAGE(!refusal(broken).empty(), "byte " << at << ", bit " << bit);
    }
    REQUIRE(!refusal(text.substr(0, at)).empty());
  }
  CHECK(!refusal(text + "\n").empty());
  CHECK(has(refusal(""), "not a checksum"));
}

TEST_CASE("the checksum of the text is XXH3-128") {
  // From the Python module xxhash: xxh3_128_hexdigest(b"dslaunch").
  CHECK(checksum_of_text("dslaunch") == "dd9da1c5c566ce87f25eeea7f3de5d81");
}

TEST_CASE("a newer version is recognized whatever else has changed") {
  const std::string text =
      with(manifest_text(small_manifest()), "\"version\": 1", "\"version\": 2");
  const std::string gone = with(text, "\"chunks\"", "\"other\"");
  for (const std::string& newer : {text, gone}) {
    CHECK(refusal(newer) == "it has format version 2, but this program reads versions up to 1");
  }
  CHECK(has(refusal(part_text({0, {"a", 1}, {}})), "not a \"dslaunch checkpoint\""));
}

TEST_CASE("chunk names must be plain file names") {
  for (const char* name : {"", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\nb"}) {
    CAPTURE(name);
    CHECK(has(refusal_of([&](Manifest& m) { m.chunks[0].name = name; }),
              "not a file name in this folder"));
  }
  CHECK(has(refusal_of([](Manifest& m) { m.chunks[0].name = m.chunks[1].name; }), "two chunks"));
}

TEST_CASE("pieces must be within box, tensor and chunk") {
  constexpr std::int64_t kHuge = INT64_MAX;
  const std::pair<const char*, std::function<void(Manifest&)>> kLies[] = {
      {"\"first\"", [](Manifest& m) { piece(m).first = -1; }},
      {"\"first\"", [](Manifest& m) { piece(m).first = 24; }},
      {"\"elements\"", [](Manifest& m) { piece(m).elements = 0; }},
      {"\"elements\"", [](Manifest& m) { piece(m).elements = 25; }},
      {"\"elements\"", [](Manifest& m) { piece(m).elements = kHuge; }},
      {"\"chunk\"", [](Manifest& m) { piece(m).chunk = 2; }},
      {"\"chunk\"", [](Manifest& m) { piece(m).chunk = -1; }},
      {"\"at\"", [](Manifest& m) { piece(m).at = -64; }},
      {"\"at\"", [](Manifest& m) { piece(m).at = kHuge; }},
      {"\"at\"", [](Manifest& m) { piece(m).at = m.chunks[0].bytes; }},
      {"its box", [](Manifest& m) { piece(m).box.offset[1] = 1; }},
      {"its box", [](Manifest& m) { piece(m).box.offset[0] = kHuge; }},
      {"its box", [](Manifest& m) { piece(m).box.offset[0] = -1; }},
      {"its box", [](Manifest& m) { piece(m).box.extent[0] = 0; }},
      {"its box", [](Manifest& m) { piece(m).box.extent[0] = kHuge; }},
      {"its box", [](Manifest& m) { piece(m).box.extent.pop_back(); }},
      {"its box", [](Manifest& m) { piece(m).box = {}; }},
      {"not fit", [](Manifest& m) { m.chunks[0].bytes = 2; }},
      {"a rank", [](Manifest& m) { piece(m).rank = 0; }},
      {"\"rank\"", [](Manifest& m) { m.tensors[2].states[0].pieces[1].rank = 2; }},
      {"shape",
       [](Manifest& m) {
         m.tensors[0].shape = {kHuge, 2};
       }},
      {"shape", [](Manifest& m) { m.tensors[0].shape = {kHuge}; }},
      {"shape",
       [](Manifest& m) {
         m.tensors[0].shape = {0, 4};
       }},
      {"shape", [](Manifest& m) { m.tensors[0].shape.assign(9, 1); }},
      {"two tensors", [](Manifest& m) { m.tensors[0].name = m.tensors[1].name; }},
      {"no name", [](Manifest& m) { m.tensors[0].name = ""; }},
      {"two states", [](Manifest& m) { m.tensors[0].states.push_back(m.tensors[0].states[0]); }},
      {"world_size", [](Manifest& m) { m.world_size = 0; }},
      {"element 0 is in no piece", [](Manifest& m) { m.tensors[0].states[0].pieces.clear(); }},
  };
  for (const auto& [part, lie] : kLies) {
    const std::string said = refusal_of(lie);
    CHECK_MESSAGE(has(said, part), said);
  }
}

TEST_CASE("a piece above the maximum size is refused before memory is allocated") {
  const std::string said = refusal_of([](Manifest& m) {
    m.tensors[0].shape = {1 << 24};
    m.chunks[0].bytes = std::int64_t{1} << 40;
    piece(m) = {{{0}, {1 << 24}}, 0, 1 << 24, 0, 0, 0, -1};
    m.tensors[0].states[0].pieces.resize(1);
  });
  CHECK_MESSAGE(has(said, "more than 8388608"), said);
}

TEST_CASE("members with a wrong type or missing are refused") {
  const std::string text = manifest_text(small_manifest());
  const std::pair<const char*, const char*> kChanges[] = {
      {"\"step\": 40", "\"step\": 40.5"},
      {"\"step\": 40", "\"step\": 18446744073709551615"},
      {"\"step\": 40", "\"step\": -1"},
      {"\"step\": 40", "\"step\": \"40\""},
      {"\"step\": 40", "\"stop\": 40"},
      {"\"lr\": 0.1", "\"lr\": null"},
      {"\"scale\": 65536", "\"scale\": true"},
      {"\"dtype\": \"f32\"", "\"dtype\": \"f31\""},
      {"\"class\": \"sharded\"", "\"class\": \"shared\""},
      {"\"world_size\": 2", "\"world_size\": 4294967298"},
      {"\"shape\": [6, 4]", "\"shape\": [6, 4.0]"},
      {"\"shape\": [6, 4]", "\"shape\": 24"},
      {"\"offset\": [0, 0]", "\"offset\": [0, [0]]"},
      {"\"origin\": {", "\"origin\": [{"},
      {"\"build\": \"g++ 12.2\"", "\"build\": 12"},
      {"\"tensors\"", "\"tensor\""},
      {"\"checksum\": \"", "\"checksum\": \"0"},
      {"\"state\": {", "\"state\": {]"},
  };
  for (const auto& [part, instead] : kChanges) {
    const std::string changed = with(text, part, instead);
    CHECK_MESSAGE(!refusal(changed).empty(), changed);
  }
  CHECK(parse_manifest(with(text, "\"step\": 40", "\"step\": 40, \"new\": [1]")) ==
        small_manifest());
}

TEST_CASE("messages are printable and short") {
  const std::string said = refusal_of([](Manifest& m) {
    m.tensors[0].name = "\x1b[31m" + std::string(5000, 'x');
    piece(m).first = -1;
  });
  CHECK(said.size() < 400);
  CHECK_FALSE(has(said, "\x1b"));
}

TEST_CASE("bytes that are not UTF-8 do not make a manifest unreadable") {
  Manifest manifest = small_manifest();
  manifest.origin.path = "/data/\xff\xfe";
  CHECK(parse_manifest(manifest_text(manifest)).origin.path == "/data/\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("parts that do not fit the model or each other are refused") {
  const Manifest manifest = small_manifest();
  const auto said = [&](const std::function<void(std::vector<ChunkPart>&)>& change) {
    Manifest head = manifest;
    std::vector<ChunkPart> parts = take_apart(head);
    change(parts);
    try {
      join_parts(head, parts);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::system);
      return std::string(error.what());
    }
    return std::string();
  };
  using Parts = std::vector<ChunkPart>;
  CHECK(has(said([](Parts& p) { p[1].tensors[0].name = "other"; }), "rank 1 wrote other"));
  CHECK(has(said([](Parts& p) { p[1].tensors[0].shape = {24}; }), "in another shape"));
  CHECK(has(said([](Parts& p) { p[1].tensors[0].states[0].name = "v"; }), "rank 0 does not have"));
  CHECK(has(said([](Parts& p) { p[0].tensors[0].states[0].dtype = DType::bf16; }), "another type"));
  const auto own = [](Parts& p) { p[0].tensors[0].states[0].held = StateClass::per_rank; };
  CHECK(has(said(own), "another type"));
  const auto other = [](Parts& p) { p[0].tensors[0].states[0].held = StateClass::replicated; };
  CHECK(said(other).empty());  // a rank that writes a slice does not know which other ranks have it
  CHECK(has(said([](Parts& p) { p[1].rank = 0; }), "rank 0 has two"));
  CHECK(has(said([](Parts& p) { p[1].rank = 7; }), "rank 7 does not belong to this job"));
  CHECK(has(said([](Parts& p) { p.pop_back(); }), "moment1 of h.0.w: element 0 is in no piece"));
  CHECK(has(said([](Parts& p) {
              std::vector<Piece>& pieces = p[0].tensors[0].states[0].pieces;
              pieces.push_back(pieces.back());
            }),
            "is in two pieces"));
}

TEST_CASE("a part refers only to its own rank and chunk") {
  Manifest head = small_manifest();
  std::vector<ChunkPart> parts = take_apart(head);
  parts[1].rank = 0;
  CHECK_THROWS_AS(parse_part(part_text(parts[1])), Error);
  parts[0].tensors[0].states[0].pieces[0].chunk = 1;
  CHECK_THROWS_AS(parse_part(part_text(parts[0])), Error);
}
