// Tests of VersionedFiles on real files: every engine, checksums, threads.
#include <doctest/doctest.h>

#include <thread>

#include "unit/storage/versioned_helpers.h"

using namespace ds;
using namespace ds::test;

namespace {

/// Four tiles of 600 KiB with spare slots on real files.
struct RealRig {
  static constexpr std::int64_t kTile = 150 * kPage;
  Folder folder;
  std::unique_ptr<VersionedFiles> files;
  std::vector<Tile> tiles;
  Memory memory{kTile}, buffer{kTile};

  RealRig(TileEngine engine, std::int64_t block) {
    VersionedFiles::Slots slots;
    for (std::int64_t i = 0; i < 8; ++i)
      (i < 4 ? slots.tiles : slots.spares).push_back({i * kTile, kTile});
    tiles = slots.tiles;
    TileFilesSpec spec = spec_in({folder.path()}, 8 * kTile);
    spec.engine = engine;
    spec.block = block;
    spec.beside_depth = 2;
    files = std::make_unique<VersionedFiles>(TileFiles::open(spec), slots);
  }
  void write(std::size_t i, int seed) {
    memory.fill(seed);
    files->write(tiles[i].offset, memory.all());
  }
  bool holds(std::size_t i, int seed) {
    memory.fill(seed);
    files->read(tiles[i].offset, buffer.all());
    return same(memory.all(), buffer.all());
  }
  bool has_frozen(std::size_t i, int seed) {
    memory.fill(seed);
    files->read_frozen(tiles[i], buffer.all());
    return same(memory.all(), buffer.all());
  }
};

}  // namespace

TEST_CASE("on real files: every engine, checksums go with the slots") {
  for (const TileEngine engine : {TileEngine::automatic, TileEngine::threads}) {
    for (const std::int64_t block : {64 * 1024, 3 << 20}) {
      RealRig rig(engine, block);
      CHECK(rig.files->probe().read > 0);
      for (std::size_t i = 0; i < 4; ++i) rig.write(i, static_cast<int>(i));
      for (int round = 1; round <= 3; ++round) {
        rig.files->freeze(rig.tiles);
        for (std::size_t i = 0; i < 4; ++i) rig.write(i, 10 * round + static_cast<int>(i));
        for (std::size_t i = 0; i < 4; ++i) {
          CHECK(rig.holds(i, 10 * round + static_cast<int>(i)));
          CHECK(rig.has_frozen(i, 10 * (round - 1) + static_cast<int>(i)));
          rig.files->release(rig.tiles[3 - i]);
          if (i == 1) break;  // the save gives up the other half
        }
        rig.files->thaw();
      }
    }
  }
}

TEST_CASE("on real files: a byte changed in a frozen slot fails only the save") {
  RealRig rig(TileEngine::threads, 64 * 1024);
  for (std::size_t i = 0; i < 4; ++i) rig.write(i, 1);
  rig.files->freeze(rig.tiles);
  rig.write(2, 2);  // moves to another slot
  flip_byte(rig.folder.path(), rig.tiles[2].offset + 301'000);
  CHECK_THROWS_WITH(rig.files->read_frozen(rig.tiles[2], rig.buffer.all()),
                    doctest::Contains("checksum mismatch"));
  CHECK(rig.has_frozen(1, 1));
  CHECK(rig.holds(2, 2));
  rig.files->thaw();
  rig.files->freeze(rig.tiles);
  CHECK(rig.has_frozen(2, 2));
}

TEST_CASE("on real files: three threads at once") {
  for (const TileEngine engine : {TileEngine::automatic, TileEngine::threads}) {
    RealRig rig(engine, 64 * 1024);
    for (std::size_t i = 0; i < 4; ++i) rig.write(i, 1);
    rig.files->freeze(rig.tiles);
    std::atomic<int> wrong{0};
    {
      const std::jthread saver([&] {
        const Memory into(RealRig::kTile);
        Memory one(RealRig::kTile);
        one.fill(1);
        for (int again = 0; again < 6; ++again) {
          for (const Tile& tile : rig.tiles) {
            rig.files->read_frozen(tile, into.all());
            wrong += !same(into.all(), one.all());
          }
        }
      });
      const std::jthread reader([&] {
        const Memory into(RealRig::kTile);
        for (int again = 0; again < 12; ++again) rig.files->read(rig.tiles[0].offset, into.all());
      });
      for (int round = 2; round < 8; ++round) {
        for (std::size_t i = 1; i < 4; ++i) rig.write(i, round);
      }
    }
    CHECK(wrong == 0);
    for (std::size_t i = 1; i < 4; ++i) CHECK(rig.holds(i, 7));
  }
}
