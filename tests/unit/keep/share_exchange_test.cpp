// Tests of exchange_shares(): ranks as threads get the shares of their wards, whatever others lack.
#include "engine/keep/share_exchange.h"

#include <doctest/doctest.h>

#include <functional>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/chunk_writer.h"
#include "support/thread_collectives.h"
#include "unit/checkpoint/samples.h"

using namespace ds;
using namespace ds::test;

namespace {

constexpr std::int64_t kSlotBytes = 256 << 10;

/// Writes a share whose size depends on the rank.
void write_rank_share(SlotMemory& memory, int rank) {
  memory.slot().begin();
  ChunkWriter chunk({.path = "slot", .fd = memory.slot().fd(), .first = KeptSlot::kPieces});
  const std::vector<std::byte> bytes(static_cast<std::size_t>(1000 + 4 * rank),
                                     static_cast<std::byte>(rank + 1));
  chunk.append(bytes);
  KeptShare share{.run = "job", .epoch = 4};
  share.head = small_manifest();
  share.head.tensors.clear();
  share.head.chunks.clear();
  share.head.world_size = 8;
  share.part = {.rank = rank, .chunk = {.name = "c", .bytes = chunk.finish()}};
  memory.slot().finish(share);
}

struct RankSlots {
  std::optional<SlotMemory> own, ward;
  std::string lacks{}, error{};
};

/// Runs the exchange on a thread for each rank. `change` may remove slots.
std::vector<RankSlots> exchanged(const std::vector<int>& nodes,
                                 const std::function<void(int rank, RankSlots&)>& change) {
  const auto world = std::make_shared<ThreadWorld>(static_cast<int>(nodes.size()));
  GroupSpec spec{.name = "keep", .epoch = 0, .ranks = {}};
  for (std::size_t i = 0; i < nodes.size(); ++i) spec.ranks.push_back(static_cast<int>(i));
  const std::vector<int> buddies = buddies_of(nodes), wards = wards_of(buddies);
  std::vector<RankSlots> slots(nodes.size());
  std::vector<std::thread> threads;
  for (const int rank : spec.ranks) {
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      RankSlots& mine = slots[at];
      ThreadCollectives collectives(world, rank);
      const Deadline deadline = Deadline::after(std::chrono::seconds(20));
      const auto group = collectives.make_group(spec, deadline);
      mine.own.emplace(kSlotBytes, "");
      if (wards[at] != kNoBuddy) mine.ward.emplace(kSlotBytes, "");
      write_rank_share(*mine.own, rank);
      change(rank, mine);
      try {
        mine.lacks =
            exchange_shares(*group, {buddies[at], wards[at]}, mine.own ? &*mine.own : nullptr,
                            mine.ward ? &*mine.ward : nullptr, deadline);
      } catch (const std::exception& error) {
        mine.error = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return slots;
}

/// Returns the rank whose share the slot has; -1: none.
int rank_in(std::optional<SlotMemory>& memory) {
  if (!memory) return -1;
  const std::optional<KeptShare> share = memory->slot().read();
  return share ? share->part.rank : -1;
}

}  // namespace

TEST_CASE("an exchange has time for its bytes") {
  using namespace std::chrono_literals;
  CHECK(exchange_time(1, 20s) == 21s);
  CHECK(exchange_time(std::int64_t{12} << 30, 20s) == 1556s);
}

TEST_CASE("every rank gets the share of its ward") {
  for (const std::vector<int>& nodes :
       {std::vector{0, 1}, {0, 0, 1, 1}, {0, 1, 2}, {0, 0, 0, 1}, {3, 3}}) {
    const std::vector<int> wards = wards_of(buddies_of(nodes));
    std::vector<RankSlots> slots = exchanged(nodes, [](int, RankSlots&) {});
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      CHECK(slots[rank].error.empty());
      CHECK(slots[rank].lacks.empty());
      CHECK(rank_in(slots[rank].own) == static_cast<int>(rank));
      CHECK(rank_in(slots[rank].ward) == wards[rank]);
      if (wards[rank] == kNoBuddy) continue;
      SlotMemory& ward = *slots[rank].ward;
      const auto bytes = ward.contents(ward.slot().header().value());
      CHECK(bytes[999] == static_cast<std::byte>(wards[rank] + 1));
    }
  }
}

TEST_CASE("a rank without a share or without room leaves out only that share") {
  std::vector<RankSlots> slots = exchanged({0, 0, 1, 1}, [](int rank, RankSlots& mine) {
    if (rank == 1) mine.own.reset();
    if (rank == 2) mine.ward.reset();
  });
  for (const RankSlots& each : slots) CHECK(each.error.empty());
  CHECK(rank_in(slots[0].ward) == 2);
  CHECK(rank_in(slots[1].ward) == 3);
  CHECK(rank_in(slots[2].ward) == -1);
  CHECK(rank_in(slots[3].ward) == -1);
  CHECK(slots[3].lacks == "rank 1 has no share");
  CHECK(slots[0].lacks.empty());
}

TEST_CASE("an older share of the ward is replaced, and stays if no new one comes") {
  std::vector<RankSlots> slots = exchanged({0, 1}, [](int rank, RankSlots& mine) {
    write_rank_share(*mine.ward, 7);
    if (rank == 1) mine.own->slot().begin();  // half-written
  });
  CHECK(rank_in(slots[1].ward) == 0);
  CHECK(rank_in(slots[0].ward) == 7);  // nothing came, nothing was touched
  CHECK(slots[0].lacks == "rank 1 has no share");
}
