// Tests of several groups of the same ranks at once, each used by its own thread, and of how a
// failing group ends all of them.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <latch>
#include <random>
#include <string>
#include <vector>

#include "conformance/comm_worlds.h"
#include "engine/base/error.h"
#include "engine/comm/pieces.h"

using namespace ds;
using namespace ds::test;

namespace {

constexpr int kGroups = 3;
constexpr std::array<const char*, kGroups> kNames{"world", "gather", "reduce"};
constexpr std::size_t kLongest = 40'000;

struct Groups {
  Groups(Collectives& world, int size) {
    for (int i = 1; i < kGroups; ++i)
      others.push_back(world.make_group({kNames[i], 0, world_of(size).ranks}, soon()));
  }
  Group& at(Group& world, int i) {
    return i == 0 ? world : *others[static_cast<std::size_t>(i - 1)];
  }
  std::vector<std::unique_ptr<Group>> others;
};

// All ranks draw the same numbers, so each operation is the same on all of them.
class Traffic {
 public:
  Traffic(Group& group, std::uint32_t seed)
      : group_(group),
        random_(seed),
        size_(static_cast<std::size_t>(group.size())),
        out_(size_ * kLongest),
        in_(size_ * kLongest) {}

  void once() {
    const auto me = static_cast<std::size_t>(group_.rank());
    const auto kind = random_() % 4;
    std::vector<std::size_t> sizes;  // bytes that a sends to b: entry a * size + b
    for (std::size_t i = 0; i < size_ * size_; ++i)
      sizes.push_back(random_() % 3 == 0 ? 0 : random_() % (random_() % 8 == 0 ? kLongest : 700));
    ++round_;
    group_.about(fmt::format("round {}", round_));
    if (kind == 0) return group_.barrier(soon());
    if (kind == 1) {
      const std::span<std::byte> data = std::span(in_).first(1 + sizes[0]);
      std::ranges::fill(data, group_.rank() == 0 ? mark(0, 0) : std::byte{});
      group_.broadcast(data, soon());
      return check(data, mark(0, 0));
    }
    std::vector<std::span<const std::byte>> send;
    std::vector<std::span<std::byte>> receive;
    for (std::size_t peer = 0; peer < size_; ++peer) {
      // all_gather sends the same to every peer.
      const std::size_t to = kind == 2 ? 0 : peer, mine = kind == 2 ? 0 : me;
      const auto from = std::span(out_).subspan(peer * kLongest, sizes[me * size_ + to]);
      std::ranges::fill(from, mark(me, to));
      send.push_back(from);
      receive.push_back(std::span(in_).subspan(peer * kLongest, sizes[peer * size_ + mine]));
      if (kind == 2 && peer == me) std::ranges::fill(receive.back(), mark(me, 0));
    }
    kind == 2 ? group_.all_gather(receive, soon()) : group_.all_to_all(send, receive, soon());
    for (std::size_t peer = 0; peer < size_; ++peer)
      check(receive[peer], mark(peer, kind == 2 ? 0 : me));
  }

 private:
  [[nodiscard]] std::byte mark(std::size_t from, std::size_t to) const {
    return static_cast<std::byte>(1 + (round_ * 37 + from * 7 + to * 3) % 255);
  }
  static void check(std::span<const std::byte> piece, std::byte expected) {
    for (const std::byte each : piece)
      if (each != expected) throw std::runtime_error("wrong bytes");
  }

  Group& group_;
  std::mt19937 random_;
  std::size_t size_, round_ = 0;
  std::vector<std::byte> out_, in_;
};

}  // namespace

TEST_CASE("three groups of the same ranks, each with its own thread, do not disturb each other") {
  for (const Backend& backend : moving_backends()) {
    CAPTURE(std::string(backend.name));
    constexpr int kRanks = 3;
    const auto errors = run_world(backend, kRanks, [](Collectives& collectives, Group& world) {
      Groups groups(collectives, kRanks);
      const auto thread_errors = run_ranks(kGroups, [&](int i) {
        Traffic traffic(groups.at(world, i), static_cast<std::uint32_t>(i + 1));
        for (int round = 0; round < 1000; ++round) traffic.once();
      });
      for (const std::string& error : thread_errors)
        if (!error.empty()) throw std::runtime_error(error);
      world.barrier(soon());
    });
    CHECK(errors == std::vector<std::string>(kRanks));
  }
}

TEST_CASE("one group fails: its rank aborts the others, and every thread of every rank ends") {
  for (const Backend& backend : moving_backends()) {
    CAPTURE(std::string(backend.name));
    constexpr int kRanks = 3;
    std::atomic<int> ended = 0;
    std::latch all_over(kRanks);
    const auto errors = run_world(backend, kRanks, [&](Collectives& collectives, Group& world) {
      Groups groups(collectives, kRanks);
      const auto abort_all = [&] {
        for (int i = 0; i < kGroups; ++i) groups.at(world, i).abort();
      };
      const auto thread_errors = run_ranks(kGroups, [&](int i) {
        Traffic traffic(groups.at(world, i), static_cast<std::uint32_t>(i + 1));
        try {
          for (int round = 0;; ++round) {
            if (round == 50 && i == 1 && world.rank() == 2) throw Error(ErrorKind::system, "disk");
            traffic.once();
          }
        } catch (const Error&) {
          ++ended;
          abort_all();
        }
      });
      all_over.arrive_and_wait();
    });
    CHECK(errors == std::vector<std::string>(kRanks));
    CHECK(ended == kRanks * kGroups);
  }
}
