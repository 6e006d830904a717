// Standard input for all nodes: the pace, late starters, the end, and what is kept for whom.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>

#include "launcher/exec/input_share.h"

namespace {

using namespace ds::launcher::exec;
using Piece = InputShare::Piece;
constexpr std::uint64_t kWindow = ds::launcher::Stdin::kWindow;

void add(InputStore& store, std::string_view text) {
  store.add(std::as_bytes(std::span(text.data(), text.size())));
}
std::string got(const InputStore& store, std::uint64_t from, std::uint64_t count) {
  const std::vector<std::byte> bytes = store.get(from, count);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("the slowest command sets the pace; one that has ended does not") {
  InputShare share(2, true);
  CHECK(share.room() == kWindow);
  share.started(0);
  share.started(1);
  CHECK_FALSE(share.next(0));
  share.read(kWindow, false);
  CHECK(share.room() == 0);
  CHECK(share.next(0) == Piece{0, kWindow, false});
  CHECK_FALSE(share.next(0));
  share.taken(0, kWindow);
  CHECK(share.room() == 0);
  CHECK(share.next(1) == Piece{0, kWindow, false});
  share.taken(1, 1000);
  CHECK(share.room() == 1000);
  CHECK(share.needed_from() == kWindow);
  share.left(1);
  CHECK(share.room() == kWindow);
  CHECK_FALSE(share.next(1));
  share.left(0);
  CHECK(share.room() == 0);
}

TEST_CASE("the end is told once to each, with the last bytes or after them") {
  InputShare share(3, true);
  for (const int node : {0, 1, 2}) share.started(node);
  share.read(10, false);
  CHECK(share.next(0) == Piece{0, 10, false});
  share.read(5, true);
  CHECK(share.room() == 0);
  CHECK(share.next(0) == Piece{10, 5, true});
  CHECK_FALSE(share.next(0));
  CHECK(share.next(1) == Piece{0, 15, true});
  share.taken(1, 15);
  CHECK_FALSE(share.next(1));
  InputShare empty(1, true);
  empty.read(0, true);
  empty.started(0);
  CHECK(empty.next(0) == Piece{0, 0, true});
}

TEST_CASE("a node that starts late gets everything, a window at a time") {
  InputShare share(2, false);
  share.started(0);
  for (int round = 0; round < 3; ++round) {
    CHECK(share.room() == kWindow);
    share.read(kWindow, round == 2);
    CHECK(share.next(0)->count == kWindow);
    share.taken(0, kWindow);
  }
  CHECK(share.needed_from() == 0);
  share.left(0);
  share.started(1);
  CHECK(share.next(1) == Piece{0, kWindow, false});
  CHECK_FALSE(share.next(1));
  share.taken(1, kWindow);
  CHECK(share.next(1) == Piece{kWindow, kWindow, false});
  CHECK(share.needed_from() == 2 * kWindow);
  share.taken(1, kWindow);
  CHECK(share.next(1) == Piece{2 * kWindow, kWindow, true});
}

TEST_CASE("a node that has not started holds the pace without a fan-out, and does not with one") {
  for (const bool at_once : {true, false}) {
    InputShare share(2, at_once);
    share.started(0);
    share.read(kWindow, false);
    (void)share.next(0);
    share.taken(0, kWindow);
    CHECK(share.room() == (at_once ? 0 : kWindow));
    share.left(1);
    CHECK(share.room() == kWindow);
  }
}

TEST_CASE("a credit for more than was sent means all of it") {
  InputShare share(1, true);
  share.started(0);
  share.read(7, false);
  (void)share.next(0);
  share.taken(0, ~std::uint64_t{0});
  CHECK(share.room() == kWindow);
}

TEST_CASE("what is kept moves to a file when it is more than memory shall hold") {
  InputStore store;
  add(store, "abcdef");
  store.forget(2);
  CHECK(got(store, 2, 3) == "cde");
  const std::string block(InputStore::kInMemory / 2, 'x');
  add(store, block);
  CHECK_FALSE(store.on_disk());
  add(store, block);
  add(store, "end");
  CHECK(store.on_disk());
  store.forget(5);
  CHECK(got(store, 4, 3) == "efx");
  CHECK(got(store, 6 + 2 * block.size(), 3) == "end");
  CHECK(got(store, 2, 0).empty());

  const std::uint64_t before = store.disk_bytes();
  store.forget(2 + 2 * block.size());
  CHECK(store.disk_bytes() + InputStore::kInMemory / 2 < before);
  CHECK(got(store, 6 + 2 * block.size(), 3) == "end");
}
