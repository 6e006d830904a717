// Tests that every collective moves exactly the right bytes, on every backend, for worlds 1 to 4
// and uneven sizes.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "conformance/comm_worlds.h"

using namespace ds;
using namespace ds::test;

namespace {

std::byte mark(int from, int to, std::size_t at) {
  return static_cast<std::byte>(
      (static_cast<std::size_t>(from * 7 + to * 31 + 1) * 2654435761U + at * 40503U) >> 5);
}

void fill(std::span<std::byte> piece, int from, int to) {
  for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = mark(from, to, i);
}

std::size_t count_wrong(std::span<const std::byte> piece, int from, int to) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < piece.size(); ++i) wrong += piece[i] == mark(from, to, i) ? 0 : 1;
  return wrong;
}

// Sizes that differ per pair: some zero, some larger than any socket buffer.
std::size_t bytes_of(int round, int from, int to) {
  constexpr std::size_t kSizes[] = {0, 1, 3, 1000, 65536, 5'000'003, 64};
  return kSizes[static_cast<std::size_t>(round + from * 2 + to * 3) % std::size(kSizes)];
}

// A piece per peer, each in separate memory and at an odd address.
struct Scattered {
  explicit Scattered(const std::vector<std::size_t>& sizes) {
    for (const std::size_t bytes : sizes) memory.emplace_back(bytes + 1, std::byte{0xee});
    for (std::vector<std::byte>& each : memory) {
      pieces.push_back(std::span(each).subspan(1));
      sent.push_back(pieces.back());
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<std::byte>> pieces;
  std::vector<std::span<const std::byte>> sent;
};

// doctest's macros are for one thread, so ranks throw instead.
void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void check_all_to_all(Group& group, int round) {
  std::vector<std::size_t> out, in;
  for (int peer = 0; peer < group.size(); ++peer) {
    out.push_back(bytes_of(round, group.rank(), peer));
    in.push_back(bytes_of(round, peer, group.rank()));
  }
  const Scattered send(out), receive(in);
  for (int peer = 0; peer < group.size(); ++peer)
    fill(send.pieces[static_cast<std::size_t>(peer)], group.rank(), peer);
  group.all_to_all(send.sent, receive.pieces, soon());
  for (int peer = 0; peer < group.size(); ++peer) {
    expect(count_wrong(receive.pieces[static_cast<std::size_t>(peer)], peer, group.rank()) == 0,
           "all_to_all: wrong bytes");
  }
}

void check_all_gather(Group& group, int round) {
  std::vector<std::size_t> sizes;
  for (int peer = 0; peer < group.size(); ++peer) sizes.push_back(bytes_of(round, peer, 0));
  const Scattered all(sizes);
  fill(all.pieces[static_cast<std::size_t>(group.rank())], group.rank(), 0);
  group.all_gather(all.pieces, soon());
  for (int peer = 0; peer < group.size(); ++peer) {
    expect(count_wrong(all.pieces[static_cast<std::size_t>(peer)], peer, 0) == 0,
           "all_gather: wrong bytes");
  }
}

void check_combine(Group& group, std::size_t bytes) {
  std::vector<std::byte> data(bytes, std::byte{0xee});
  if (group.rank() == 0) fill(data, 0, 9);
  group.broadcast(data, soon());
  expect(count_wrong(data, 0, 9) == 0, "broadcast: wrong bytes");
  std::array<std::byte, 2> range{static_cast<std::byte>(group.rank()),
                                 static_cast<std::byte>(group.rank() + 1)};
  const auto join = [](std::span<std::byte> left, std::span<const std::byte> right) {
    expect(left[1] == right[0], "values are combined in the order of the ranks");
    left[1] = right[1];
  };
  group.combine(range, join, soon());
  expect(range[0] == std::byte{0} && range[1] == static_cast<std::byte>(group.size()),
         "combine: wrong bytes");
}

}  // namespace

TEST_CASE("collectives move exactly the right bytes") {
  for (const Backend& backend : moving_backends()) {
    for (int size = 1; size <= 4; ++size) {
      CAPTURE(std::string(backend.name));
      CAPTURE(size);
      const auto errors = run_world(backend, size, [](Collectives& world, Group& group) {
        expect(world.rank() == group.rank() && world.world_size() == group.size(),
               "ranks and sizes agree");
        for (int round = 0; round < 7; ++round) {
          check_all_to_all(group, round);
          check_all_gather(group, round);
          group.barrier(soon());
        }
        for (const std::size_t bytes :
             {std::size_t{1}, std::size_t{1000}, std::size_t{300'001}}) {
          check_combine(group, bytes);
        }
        group.barrier(soon());
      });
      CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(size)));
    }
  }
}

TEST_CASE(
    "groups of some ranks, in any order, live beside the world and are rebuilt at a new epoch") {
  for (const Backend& backend : moving_backends()) {
    CAPTURE(std::string(backend.name));
    const auto errors = run_world(backend, 4, [](Collectives& world, Group& all) {
      const std::vector<int> members =
          all.rank() % 2 == 0 ? std::vector<int>{2, 0} : std::vector<int>{3, 1};
      const std::string name = all.rank() % 2 == 0 ? "even" : "odd";
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        const auto group = world.make_group({name, epoch, members}, soon());
        expect(group->rank() == (all.rank() >= 2 ? 0 : 1), "the rank is the place in the list");
        check_all_gather(*group, 3);
        check_all_to_all(all, 4);
        group->barrier(soon());
      }
      const auto alone = world.make_group({"alone", 0, {all.rank()}}, soon());
      check_all_gather(*alone, 3);
      all.barrier(soon());
    });
    CHECK(errors == std::vector<std::string>(4));
  }
}

TEST_CASE("all_to_all in place: a rank's own piece may share memory") {
  for (const Backend& backend : moving_backends()) {
    CAPTURE(std::string(backend.name));
    const auto errors = run_world(backend, 1, [](Collectives&, Group& group) {
      std::vector<std::byte> data(100);
      fill(data, 0, 0);
      const std::span<const std::byte> from = data;
      const std::span<std::byte> into = data;
      group.all_to_all({&from, 1}, {&into, 1}, soon());
      expect(count_wrong(data, 0, 0) == 0, "unchanged");
    });
    CHECK(errors == std::vector<std::string>(1));
  }
}
