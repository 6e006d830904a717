// Tests of KeptSlot: shares read back as written; damaged, half-written and foreign slots hold
// none.
#include "engine/keep/kept_slot.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/chunk_writer.h"
#include "unit/checkpoint/folder.h"
#include "unit/checkpoint/samples.h"

using namespace ds;
using namespace ds::test;

namespace {

std::vector<std::byte> keep_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 13 + 5);
  return bytes;
}

/// A share of one tensor with `elements` elements, without checksums.
KeptShare share_of(std::int64_t elements, std::int64_t step = 7) {
  KeptShare share{.run = "job-1", .epoch = 3};
  share.head = small_manifest();
  share.head.state.step = step;
  share.head.chunks.clear();
  for (TensorEntry& tensor : share.head.tensors)
    for (StateEntry& state : tensor.states) state.pieces.clear();
  share.part = {.rank = 1, .chunk = {.name = "rank-00001.chunk", .bytes = elements * 4}};
  const Box box{{0}, {elements}};
  share.part.tensors.push_back(
      {.name = "w",
       .shape = {elements},
       .states = {{.name = "master", .pieces = {{.box = box, .elements = elements}}}}});
  return share;
}

/// Writes the share with its piece as the keeper does.
KeptSlot written_slot(KeptShare& share, const std::string& folder = {}) {
  KeptSlot slot = KeptSlot::create(KeptSlot::bytes_for(share.part, share.head), folder);
  slot.begin();
  ChunkWriter chunk({.path = "slot", .fd = slot.fd(), .first = KeptSlot::kPieces});
  const auto bytes = keep_bytes(static_cast<std::size_t>(share.part.chunk.bytes));
  const ChunkWriter::Place place = chunk.append(bytes);
  Piece& piece = share.part.tensors[0].states[0].pieces[0];
  piece.at = place.at;
  piece.checksum = place.checksum;
  CHECK(chunk.finish() == share.part.chunk.bytes);
  slot.finish(share);
  return slot;
}

std::int64_t size_of_file(int fd) {
  struct stat facts {};
  REQUIRE(::fstat(fd, &facts) == 0);
  return facts.st_size;
}

void flip(int fd, std::int64_t at) {
  char byte = 0;
  REQUIRE(::pread(fd, &byte, 1, at) == 1);
  byte = static_cast<char>(byte ^ 0x10);
  REQUIRE(::pwrite(fd, &byte, 1, at) == 1);
}

bool same(const KeptShare& a, const KeptShare& b) {
  return a.run == b.run && a.epoch == b.epoch && a.head == b.head && a.part == b.part;
}

}  // namespace

TEST_CASE("a share reads back as written, from memory and from a file without a name") {
  const Folder folder;
  for (const std::string& place : {std::string(), folder.path()}) {
    KeptShare share = share_of(1000);
    const KeptSlot slot = written_slot(share, place);
    const std::optional<KeptShare> read = slot.read();
    REQUIRE(read);
    CHECK(same(*read, share));
    std::vector<std::byte> bytes(4000);
    REQUIRE(::pread(slot.fd(), bytes.data(), bytes.size(), KeptSlot::kPieces) == 4000);
    CHECK(bytes == keep_bytes(4000));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a slot has its memory from the start, and a later share with longer numbers fits") {
  KeptShare share = share_of(50'000);
  KeptSlot slot = written_slot(share);
  struct stat facts {};
  REQUIRE(::fstat(slot.fd(), &facts) == 0);
  CHECK(facts.st_blocks * 512 >= facts.st_size);
  const std::int64_t size = facts.st_size;
  share.head.state.step = share.head.state.next_sample = share.head.state.updates =
      123'456'789'012'345;
  slot.begin();
  slot.finish(share);
  CHECK(size_of_file(slot.fd()) == size);
  REQUIRE(slot.read());
  CHECK(slot.read()->head.state.step == 123'456'789'012'345);
}

TEST_CASE("a slot has room for a config of any length") {
  KeptShare share = share_of(100);
  const std::int64_t usual = KeptSlot::bytes_for(share.part, share.head);
  CHECK(usual == KeptSlot::bytes_for(share.part, {.tensors = share.head.tensors}));
  share.head.config = std::string(300'000, '"');  // each takes 2 bytes of the text
  CHECK(KeptSlot::bytes_for(share.part, share.head) > usual);
  const KeptSlot slot = written_slot(share);
  REQUIRE(slot.read());
  CHECK(slot.read()->head.config == share.head.config);
}

TEST_CASE("a slot without a share, one being written and one that ends early hold nothing") {
  CHECK_FALSE(KeptSlot::create(10'000, "").read());
  CHECK_FALSE(KeptSlot::create(10, "").read());
  KeptShare share = share_of(100);
  KeptSlot slot = written_slot(share);
  slot.begin();
  CHECK_FALSE(slot.read());
  slot.finish(share);
  const KeptHeader header = slot.header().value();
  REQUIRE(::ftruncate(slot.fd(), header.text_at + header.text_bytes - 1) == 0);
  CHECK_FALSE(slot.header());
  CHECK_FALSE(slot.read());
}

TEST_CASE("a share whose parts do not fit together is refused, with the reason") {
  const auto problem_with = [](const std::function<void(KeptShare&)>& change) {
    KeptShare share = share_of(100);
    KeptSlot slot = written_slot(share);
    change(share);
    slot.finish(share);
    std::string problem;
    CHECK_FALSE(slot.read(&problem));
    return problem;
  };
  CHECK(problem_with([](KeptShare& share) { share.part.rank = share.head.world_size; }) ==
        "it is of rank 2, but its job has 2 ranks");
  CHECK(problem_with([](KeptShare& share) {
          share.head.chunks = {{"c", 400}};
        }) == "its head lists chunks");
  CHECK(has(problem_with([](KeptShare& share) { share.head.world_size = 0; }), "\"world_size\""));
}

TEST_CASE("only what was a share has a problem") {
  std::string problem;
  KeptShare share = share_of(100);
  KeptSlot slot = written_slot(share);
  CHECK(slot.read(&problem));
  slot.begin();
  CHECK_FALSE(slot.read(&problem));
  CHECK_FALSE(KeptSlot::create(10'000, "").read(&problem));
  CHECK_FALSE(KeptSlot::create(10, "").read(&problem));
  CHECK(problem.empty());
  slot.finish(share);
  const KeptHeader header = slot.header().value();
  flip(slot.fd(), header.text_at + 3);
  CHECK_FALSE(slot.read(&problem));
  CHECK(problem == "its text does not verify");
  flip(slot.fd(), 40);
  CHECK_FALSE(slot.read(&problem));
  CHECK(problem == "its header does not verify");
}

TEST_CASE("every flipped byte of header and text is found; a piece has a checksum of its own") {
  KeptShare share = share_of(100);
  const KeptSlot slot = written_slot(share);
  const KeptHeader header = slot.header().value();
  const auto check = [&](std::int64_t at) {
    CAPTURE(at);
    flip(slot.fd(), at);
    CHECK_FALSE(slot.read());
    flip(slot.fd(), at);
  };
  for (std::int64_t at = 0; at < std::ssize(std::string(sizeof header, ' ')); ++at) check(at);
  for (std::int64_t at = 0; at < header.text_bytes; ++at) check(header.text_at + at);
  flip(slot.fd(), KeptSlot::kPieces + 17);
  CHECK(slot.read());
}

TEST_CASE("a copy of pieces and text is a share once it has the header, too") {
  KeptShare share = share_of(300);
  const KeptSlot own = written_slot(share);
  const KeptHeader header = own.header().value();
  const std::int64_t end = header.text_at + header.text_bytes;
  KeptSlot ward = KeptSlot::create(end, "");
  std::vector<char> bytes(static_cast<std::size_t>(end - KeptSlot::kPieces));
  REQUIRE(::pread(own.fd(), bytes.data(), bytes.size(), KeptSlot::kPieces) == std::ssize(bytes));
  REQUIRE(::pwrite(ward.fd(), bytes.data(), bytes.size(), KeptSlot::kPieces) == std::ssize(bytes));
  CHECK_FALSE(ward.read());
  ward.seal(header);
  REQUIRE(ward.read());
  CHECK(same(*ward.read(), share));
}

TEST_CASE("memory that cannot be reserved is named with its bytes") {
  const auto message = [](std::int64_t bytes, const std::string& folder) -> std::string {
    try {
      KeptSlot::create(bytes, folder);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::system);
      return error.what();
    }
    return {};
  };
  const std::string memory = message(1LL << 50, "");
  CHECK(memory.find(" cannot be reserved: ") != std::string::npos);
  CHECK(memory.ends_with(" of memory are free"));
  CHECK(message(1LL << 50, "/var/tmp").find("cannot be reserved in /var/tmp: ") !=
        std::string::npos);
  CHECK(message(4096, "/proc").starts_with("kept states: 4.0 KiB cannot be reserved in /proc: "));
}
