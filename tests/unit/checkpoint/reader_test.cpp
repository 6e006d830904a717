// Tests of Checkpoint and PieceReader: ranges across pieces and boxes, and errors that name the
// broken piece.
#include "engine/checkpoint/reader.h"

#include <doctest/doctest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "engine/base/error.h"
#include "engine/tensor/bf16.h"
#include "unit/checkpoint/written.h"

using namespace ds;
using namespace ds::test;

namespace {

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return {};
}

/// Reads every state whole and in random ranges.
void check_values(const std::string& folder, std::uint64_t seed) {
  Random random(seed);
  const auto checkpoint = Checkpoint::open(folder);
  PieceReader reader(checkpoint);
  const Manifest& manifest = checkpoint->manifest();
  for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
    const TensorEntry& tensor = manifest.tensors[t];
    const std::int64_t all = elements_of_box({{}, tensor.shape});
    for (std::size_t s = 0; s < tensor.states.size(); ++s) {
      const bool own = tensor.states[s].held == StateClass::per_rank;
      for (int rank = own ? 0 : -1; rank < (own ? manifest.world_size : 0); ++rank) {
        for (int round = 0; round < 6; ++round) {
          const std::int64_t first = round == 0 ? 0 : below(random, all);
          const std::int64_t count = round == 0 ? all : below(random, all - first + 1);
          std::vector<float> values(static_cast<std::size_t>(count), -1.0F);
          reader.read(tensor.name, tensor.states[s].name, first, values, rank);
          for (std::int64_t i = 0; i < count; ++i) {
            REQUIRE(values[static_cast<std::size_t>(i)] == value_of(t, s, rank, first + i));
          }
        }
      }
    }
  }
}

/// Flips a bit of a file.
void damage(const std::string& path, std::int64_t at) {
  std::string text = read_text(path);
  text.at(static_cast<std::size_t>(at)) ^= 1;
  write_text(path, text);
}

struct Written {
  Folder folder;
  Manifest manifest = small_manifest();
  Written() { write_checkpoint(folder.path(), manifest); }
};

/// Opens files as another user, because root may read everything.
class OtherUser {
 public:
  OtherUser() : before_(::setfsuid(65534)) {}
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;
  ~OtherUser() { ::setfsuid(static_cast<uid_t>(before_)); }

 private:
  int before_;
};

}  // namespace

TEST_CASE("every range reads as written: flat ranges, blocks, per rank") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Folder folder;
    Manifest manifest = seed == 0 ? small_manifest() : random_manifest(seed);
    write_checkpoint(folder.path(), manifest);
    REQUIRE(Checkpoint::open(folder.path())->manifest() == manifest);
    check_values(folder.path(), seed);
  }
}

TEST_CASE("a checkpoint for readers in other languages") {
  const Folder own;
  const char* const folder = std::getenv("DS_CHECKPOINT_FOLDER");  // set by read_example.py
  Manifest manifest = small_manifest();
  write_checkpoint(folder != nullptr ? folder : own.path(), manifest);
}

TEST_CASE("a reader reads only the pieces that it needs, each once") {
  const Folder folder;
  Manifest manifest = head_of(1);
  manifest.chunks = {{"a", 0}};
  manifest.tensors = {{"t", {8, 100}, {{"master", DType::f32, StateClass::sharded, {}}}}};
  for (std::int64_t i = 0; i < 8; ++i) {
    manifest.tensors[0].states[0].pieces.push_back({{{0, 0}, {8, 100}}, i * 100, 100, 0, 0, 0, -1});
  }
  write_checkpoint(folder.path(), manifest);
  PieceReader reader(Checkpoint::open(folder.path()));
  std::vector<float> values(20);
  reader.read("t", "master", 190, values);
  CHECK(reader.bytes_read() == 800);
  reader.read("t", "master", 210, values);
  CHECK(reader.bytes_read() == 800);
}

TEST_CASE("16-bit states are read as floats") {
  const Folder folder;
  Manifest manifest = head_of(1);
  manifest.tensors = {{"t", {3}, {{"master", DType::bf16, StateClass::sharded, {}}}}};
  const std::vector<float> values{1.5F, -2.0F, 0.0F};
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(bf16_from_float(value));
  ChunkWriter writer({.path = folder.file("a")});
  const auto place = writer.append(std::as_bytes(std::span(halves)));
  manifest.tensors[0].states[0].pieces = {{{{0}, {3}}, 0, 3, 0, place.at, place.checksum, -1}};
  manifest.chunks = {{"a", writer.finish()}};
  write_text(folder.file("manifest.json"), manifest_text(manifest));
  std::vector<float> read(3);
  PieceReader(Checkpoint::open(folder.path())).read("t", "master", 0, read);
  CHECK(read == values);
}

TEST_CASE("tensors and states by name") {
  const Written written;
  const auto checkpoint = Checkpoint::open(written.folder.path());
  REQUIRE(checkpoint->tensor("wte") != nullptr);
  CHECK(checkpoint->tensor("wte")->shape == std::vector<std::int64_t>{6, 4});
  CHECK(checkpoint->tensor("wt") == nullptr);
  CHECK(checkpoint->tensor("x") == nullptr);
  CHECK(checkpoint->state("wte", "master") == &checkpoint->tensor("wte")->states[0]);
  CHECK(checkpoint->state("wte", "moment1") == nullptr);
  CHECK(checkpoint->state("x", "master") == nullptr);
}

TEST_CASE("a broken piece is reported, and the others still load") {
  const Written written;
  const Manifest& manifest = written.manifest;
  const std::string path = written.folder.file("rank-00001.chunk");
  const Piece& piece = manifest.tensors[1].states[0].pieces[1];
  damage(path, piece.at + 3);
  PieceReader reader(Checkpoint::open(written.folder.path()));
  std::vector<float> all(24), one(static_cast<std::size_t>(24));
  const std::string said = refusal([&] { reader.read("h.0.w", "moment1", 0, all); });
  CHECK(has(said, fmt::format("{}: elements {} to {} of the box [0:4, 0:2] of the moment1 of h.0.w "
                              "(bytes {} to {}) differ from what was written: their checksum is ",
                              path, piece.first, piece.first + piece.elements - 1, piece.at,
                              piece.at + piece.elements * 4 - 1)));
  reader.read("wte", "master", 0, one);
  CHECK(one[23] == value_of(0, 0, -1, 23));
  reader.read("h.0.w", "moment1", 2, std::span(all).first(4));  // the other box
  CHECK(all[0] == value_of(1, 0, -1, 2));
}

TEST_CASE("every damaged byte of a piece is detected") {
  const Written written;
  const std::string path = written.folder.file("rank-00000.chunk");
  const std::string text = read_text(path);
  for (const Piece& piece : written.manifest.tensors[0].states[0].pieces) {
    for (std::int64_t at = piece.at; at < piece.at + piece.elements * 4; ++at) {
      damage(path, at);
      PieceReader reader(Checkpoint::open(written.folder.path()));
      std::vector<float> all(24);
      REQUIRE(has(refusal([&] { reader.read("wte", "master", 0, all); }), "of the master of wte"));
      write_text(path, text);
    }
  }
}

TEST_CASE("a chunk that is missing, short, or not a regular file") {
  const Written written;
  const std::string& folder = written.folder.path();
  const std::string path = written.folder.file("rank-00001.chunk");
  const std::string text = read_text(path);
  const auto said = [&] { return refusal([&] { Checkpoint::open(folder); }); };
  write_text(path, text.substr(0, text.size() - 1));
  CHECK(said() == fmt::format("{} is truncated: it has {} bytes, but the manifest says {}", path,
                              text.size() - 1, text.size()));
  std::filesystem::remove(path);
  CHECK(said() == path + " cannot be read: No such file or directory");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(said() == path + " is not a regular file");
}

TEST_CASE("a chunk that becomes shorter after it was opened") {
  const Written written;
  PieceReader reader(Checkpoint::open(written.folder.path()));
  std::filesystem::resize_file(written.folder.file("rank-00000.chunk"), 1);
  std::vector<float> all(24);
  const std::string said = refusal([&] { reader.read("wte", "master", 0, all); });
  CHECK_MESSAGE(has(said, "is truncated"), said);
}

TEST_CASE("folders that are not checkpoints, and manifests that do not verify") {
  const Written written;
  const std::string& folder = written.folder.path();
  const std::string path = written.folder.file("manifest.json");
  const auto said = [&] { return refusal([&] { Checkpoint::open(folder); }); };
  damage(path, 100);
  CHECK(has(said(), path + ": it was changed after it was written"));
  write_text(path, "");
  CHECK(has(said(), path + ": it is truncated"));
  std::filesystem::remove(path);
  CHECK(has(said(), folder + " is not a checkpoint: it has no manifest.json"));
  CHECK(has(refusal([&] { Checkpoint::open(folder + "/missing"); }), "is not a checkpoint"));
  std::filesystem::create_directory(path);
  CHECK(said() == path + " is not a regular file");
}

TEST_CASE("no permission for the manifest, or for a chunk") {
  const Written written;
  std::filesystem::permissions(written.folder.path(), std::filesystem::perms(0755));
  for (const char* name : {"rank-00000.chunk", "manifest.json"}) {
    const std::string path = written.folder.file(name);
    REQUIRE(::chmod(path.c_str(), 0) == 0);
    const OtherUser other;
    CHECK(refusal([&] { Checkpoint::open(written.folder.path()); }) ==
          path + " cannot be read: Permission denied");
  }
}

TEST_CASE("a rank without a per-rank state") {
  const Written written;
  PieceReader reader(Checkpoint::open(written.folder.path()));
  std::vector<float> all(3);
  CHECK(has(refusal([&] { reader.read("error", "error", 0, all, 2); }), "rank 2 has no error"));
}
