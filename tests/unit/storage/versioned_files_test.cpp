// Tests of VersionedFiles in memory: against a naive model, in sequence, with threads, with errors.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "unit/storage/versioned_helpers.h"

using namespace ds;
using namespace ds::test;

namespace {

/// Does random operations of a trainer and a saver, and knows what each tile must hold.
class RandomUse {
 public:
  RandomUse(Rig& rig, unsigned seed) : rig_(rig), random_(seed) {
    for (std::size_t i = 0; i < rig.slots.tiles.size(); ++i) write(i);
  }

  void step() {
    const std::size_t i = below(rig_.slots.tiles.size());
    switch (below(7)) {
      case 0:
        if (frozen_.empty()) freeze();
        break;
      case 1:
        if (below(10) == 0) thaw();
        break;
      case 2:
      case 3:
        write(i);
        break;
      case 4:
        CHECK(rig_.read(i) == now_[i]);
        break;
      case 5:
        if (frozen_.contains(i)) CHECK(rig_.read_frozen(i) == frozen_[i]);
        break;
      default:
        if (!frozen_.contains(i)) break;
        rig_.files->release(rig_.tile(i));
        frozen_.erase(i);
    }
    check_rest();
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void write(std::size_t i) {
    now_[i] = static_cast<int>(below(256));
    rig_.write(i, now_[i]);
  }
  void freeze() {
    std::vector<Tile> chosen;
    for (std::size_t i = 0; i < rig_.slots.tiles.size(); ++i) {
      if (below(3) == 0) continue;
      frozen_[i] = now_[i];
      chosen.push_back(rig_.tile(i));
    }
    rig_.files->freeze(chosen);
  }
  void thaw() {
    rig_.files->thaw();
    frozen_.clear();
  }
  /// Checks the page before each tile, which belongs to no tile.
  void check_rest() {
    const std::size_t i = below(rig_.slots.tiles.size());
    std::vector<std::byte> page(kPage);
    const std::int64_t at = rig_.tile(i).offset - kPage;
    rig_.files->read(at, page);
    CHECK(Rig::content_of(page) == rest_[i]);
    rest_[i] = static_cast<int>(below(256));
    rig_.files->write(at, std::vector(kPage, static_cast<std::byte>(rest_[i])));
  }

  Rig& rig_;
  std::mt19937 random_;
  std::map<std::size_t, int> now_, frozen_, rest_;
};

}  // namespace

TEST_CASE("random freezes, reads, writes, releases and thaws agree with a model") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const std::vector<int> pages{1, 4, 3, 4, 4, 1, 7};
    Rig rig(pages, pages);
    RandomUse use(rig, seed);
    for (int i = 0; i < 400; ++i) use.step();
    CHECK(rig.files->waits() == 0);
    CHECK(rig.disk.clashes == 0);
  }
}

TEST_CASE("overwriting all tiles twice during a save makes no write wait") {
  Rig rig({2, 5, 2}, {2, 2, 5});
  for (std::size_t i = 0; i < 3; ++i) rig.write(i, 10 + static_cast<int>(i));
  for (int save = 0; save < 4; ++save) {
    rig.files->freeze(rig.slots.tiles);
    const int before = save == 0 ? 10 : 200 + 10 * (save - 1);
    for (std::size_t i = 0; i < 3; ++i) rig.write(i, 1);
    for (std::size_t i = 0; i < 3; ++i) rig.write(i, 200 + 10 * save + static_cast<int>(i));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(rig.read(i) == 200 + 10 * save + static_cast<int>(i));
      CHECK(rig.read_frozen(i) == before + static_cast<int>(i));
      rig.files->release(rig.tile(i));
    }
  }
  CHECK(rig.files->waits() == 0);
}

// States kept twice: a step reads those of one parity and writes the others. Spare slots for one
// parity are enough however long the save takes.
TEST_CASE("with two alternating sets of tiles, spare slots for one set are enough") {
  Rig rig({2, 3, 2, 3}, {2, 3});
  const auto set = [](int parity, std::size_t i) {
    return 2 * static_cast<std::size_t>(parity) + i;
  };
  for (std::size_t i = 0; i < 4; ++i) rig.write(i, 100);
  int parity = 0;  // parity of the set with the last step's states
  for (int step = 1; step <= 30; ++step) {
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(rig.read(set(parity, i)) == (step == 1 ? 100 : step - 1));
      rig.write(set(1 - parity, i), step);
    }
    parity = 1 - parity;
    if (step % 5 == 0) {
      if (step > 5) {
        const int saved = 1 - parity;  // five steps ago
        for (std::size_t i = 0; i < 2; ++i) {
          CHECK(rig.read_frozen(set(saved, i)) == step - 5);
          rig.files->release(rig.tile(set(saved, i)));
        }
      }
      rig.files->freeze(std::vector{rig.tile(set(parity, 0)), rig.tile(set(parity, 1))});
    }
  }
  CHECK(rig.files->waits() == 0);
}

TEST_CASE("tiles that are not written stay in their slots") {
  Rig rig({1, 1}, {1, 1});
  rig.write(0, 1);
  rig.write(1, 2);
  const std::vector<std::byte> before = rig.disk.bytes;
  rig.files->freeze(rig.slots.tiles);
  CHECK(rig.read_frozen(1) == 2);
  rig.files->thaw();
  rig.write(0, 1);  // no longer frozen: written in place
  CHECK(same(rig.disk.bytes, before));
}

TEST_CASE("threads of trainer and saver at the same time see only their own bytes") {
  constexpr std::size_t kTiles = 12;
  constexpr int kSteps = 250;
  Rig rig(std::vector<int>(kTiles, 2), std::vector<int>(kTiles, 2));
  const auto content = [](int step, std::size_t i) {
    return (step * 31 + static_cast<int>(i) * 7) % 256;
  };
  for (std::size_t i = 0; i < kTiles; ++i) rig.write(i, content(0, i));
  std::optional<std::jthread> saver;
  std::atomic<bool> is_saved{true};
  std::atomic<int> wrong{0}, saves{0};
  for (int step = 1; step <= kSteps; ++step) {
    std::array<std::atomic<bool>, kTiles> was_read{};
    std::jthread reader([&] {
      for (std::size_t i = 0; i < kTiles; ++i) {
        wrong += rig.read(i) != content(step - 1, i);
        was_read[i] = true;
        was_read[i].notify_one();
      }
    });
    for (std::size_t i = 0; i < kTiles; ++i) {
      was_read[i].wait(false);
      rig.write(i, content(step, i));
    }
    reader.join();
    if (!is_saved) continue;
    saver.reset();
    is_saved = false;
    rig.files->freeze(rig.slots.tiles);
    saver.emplace([&, step] {
      for (std::size_t i = 0; i < kTiles; ++i) {
        for (int again = 0; again < 20; ++again) wrong += rig.read_frozen(i) != content(step, i);
        if (step % 3 == 0 && i > kTiles / 2) break;
        rig.files->release(rig.tile(i));
      }
      if (step % 3 == 0) rig.files->thaw();
      ++saves;
      is_saved = true;
    });
  }
  saver.reset();
  CHECK(wrong == 0);
  CHECK(rig.disk.clashes == 0);
  CHECK(rig.files->waits() == 0);
  MESSAGE(saves.load(), " saves beside ", kSteps, " steps");
}

TEST_CASE("without a spare slot a write waits until a slot of its size is released") {
  Rig rig({1, 1, 2}, {1});
  for (std::size_t i = 0; i < 3; ++i) rig.write(i, 1);
  rig.files->freeze(rig.slots.tiles);
  rig.write(0, 2);  // takes the only spare slot
  std::jthread writer([&] { rig.write(1, 3); });
  while (rig.files->waits() == 0) std::this_thread::yield();
  CHECK(rig.read_frozen(1) == 1);
  SUBCASE("another tile's") {
    rig.files->release(rig.tile(2));
    rig.files->release(rig.tile(0));
    writer.join();
    CHECK(rig.read_frozen(1) == 1);
  }
  SUBCASE("its own") {
    rig.files->release(rig.tile(1));
    writer.join();
    CHECK(rig.read_frozen(0) == 1);
  }
  SUBCASE("all") { rig.files->thaw(); }
  if (writer.joinable()) writer.join();
  CHECK(rig.read(0) == 2);
  CHECK(rig.read(1) == 3);
  CHECK(rig.files->waits() == 1);
}

TEST_CASE("a write that finds no slot in time is an error with the reason") {
  Rig rig({1, 1}, {}, std::chrono::milliseconds(1));
  rig.files->freeze(rig.slots.tiles);
  try {
    rig.write(1, 3);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::deadline);
    CHECK(has(error.for_people(),
              "writing tile byte 12288: its previous 4.0 KiB are still needed by a checkpoint"));
    CHECK(has(error.hint(), "checkpoint.rate"));
  }
}

TEST_CASE("an error of the third lane fails only the save") {
  Rig rig({1, 1}, {1, 1});
  rig.write(0, 1);
  rig.write(1, 2);
  rig.files->freeze(rig.slots.tiles);
  rig.write(0, 3);
  rig.disk.beside_fails = true;
  CHECK_THROWS_WITH(rig.read_frozen(0), "the third lane fails");
  rig.write(1, 4);
  CHECK(rig.read(0) == 3);
  CHECK(rig.read(1) == 4);
  rig.files->thaw();
  rig.disk.beside_fails = false;
  rig.files->freeze(rig.slots.tiles);
  rig.write(0, 5);
  CHECK(rig.read_frozen(0) == 3);
  CHECK(rig.read_frozen(1) == 4);
  CHECK(rig.read(0) == 5);
}
