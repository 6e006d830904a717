// Tests that steady operations of a mesh allocate nothing that grows with the bytes, and
// leave the heap unchanged.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "conformance/comm_worlds.h"
#include "engine/comm/pieces.h"

using namespace ds;
using namespace ds::test;

namespace {

std::atomic<bool> counting = false;
std::atomic<std::size_t> largest = 0;
std::atomic<long> live = 0;

void* counted(std::size_t bytes) {
  if (counting) {
    std::size_t seen = largest;
    while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
    }
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++live;
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }

TEST_CASE("steady operations allocate only small blocks, and free them all") {
  counting = true;
  ::operator delete(::operator new(7));
  CHECK(largest == 7);  // the test sees allocations
  largest = 0;
  counting = false;
  constexpr std::size_t kPiece = 1'500'000;
  std::vector<long> at_begin(3), at_end(3);
  const auto errors = run_world(backends()[1], 3, [&](Collectives&, Group& group) {
    std::vector<std::byte> out(3 * kPiece), in(3 * kPiece);
    const auto pieces = cut_pieces(std::span(in), 3);
    const auto sent = cut_pieces(std::span<const std::byte>(out), 3);
    const auto round = [&] {
      group.about("block3.attn.qkv.weight.reduce");
      group.all_to_all(sent, pieces, soon());
      group.about("block3.attn.qkv.weight.gather");
      group.all_gather(pieces, soon());
      group.combine(
          std::span(in).first(700), [](auto, auto) {}, soon());
      group.barrier(soon());
    };
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto settle = [&](long& count) {
      group.barrier(soon());
      if (rank == 0) count = live;
      group.barrier(soon());
    };
    for (int i = 0; i < 5; ++i) round();
    settle(at_begin[rank]);
    counting = true;
    for (int i = 0; i < 50; ++i) round();
    group.barrier(soon());
    counting = false;
    settle(at_end[rank]);
  });
  CHECK(errors == std::vector<std::string>(3));
  MESSAGE("largest allocation in steady operations: ", largest.load(),
          " bytes; blocks before and after 50 rounds: ", at_begin[0], " ", at_end[0]);
  CHECK(largest < 4096);
  // The other ranks may be inside an operation while rank 0 counts: a few dozen blocks, not
  // hundreds.
  CHECK(std::abs(at_end[0] - at_begin[0]) < 100);
}
