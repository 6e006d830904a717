// Tests of Keeper with ranks as threads: exchanges that never end or fail, slots that the agent
// refuses, jobs that end meanwhile.
#include "engine/train/keeper.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "engine/checkpoint/reader.h"
#include "unit/train/keeping_ranks.h"

using namespace ds;
using namespace ds::test;

TEST_CASE("a job that ends does not wait for an exchange") {
  on_keeping_ranks([](Collectives& collectives,
                      int) { return std::make_unique<BrokenGroup>(collectives.rank(), true); },
                   [](KeepingRank& rank) {
                     rank.keeper.begin_first();
                     rank.step();
                     rank.keeper.leave(false);
                     CHECK(rank.keeper.copy_is_free(false));
                     CHECK_FALSE(rank.keeper.keep_now(1));
                     CHECK(rank.keeper.kept_step() == -1);
                     rank.step();
                     CHECK(rank.told.empty());
                   });
}

TEST_CASE("a failed exchange is tried again over a new group") {
  on_keeping_ranks(
      [](Collectives& collectives, int n) -> std::unique_ptr<Group> {
        if (n < 2) return std::make_unique<BrokenGroup>(collectives.rank(), false);
        return real_group(collectives);
      },
      [](KeepingRank& rank) {
        for (std::int64_t step = 1; step <= 4; ++step) {
          rank.step();
          const bool is_kept = rank.keeper.keep_now(step);
          CHECK(is_kept == (step > 2));
        }
        CHECK(rank.keeper.kept_step() == 4);
        CHECK(rank.drops == 1);
        if (rank.told.empty()) return;  // only rank 0 is told
        CHECK(rank.told.size() == 2);
        CHECK(rank.told[0].step == 1);
        CHECK(rank.told[0].why == "rank 0: no answer from rank 1");
        CHECK_FALSE(rank.told[1].is_over);
      });
}

TEST_CASE("of a failed keep the reason of a rank is told, not that its buddy waited for it") {
  on_keeping_ranks(
      [](Collectives& collectives, int) {
        return std::make_unique<BrokenGroup>(collectives.rank(), false);
      },
      [](KeepingRank& rank) {
        rank.node.refuses = rank.trainer.spec().rank == 1;
        rank.step();
        CHECK_FALSE(rank.keeper.keep_now(1));
        if (rank.told.empty()) return;  // only rank 0 is told
        CHECK(rank.told[0].why == "rank 1: the agent of this node does not hold e0.r1.own0");
      });
}

TEST_CASE("after three failures in a row nothing is kept any more") {
  on_keeping_ranks([](Collectives& collectives,
                      int) { return std::make_unique<BrokenGroup>(collectives.rank(), false); },
                   [](KeepingRank& rank) {
                     for (std::int64_t step = 1; step <= 5; ++step) {
                       rank.step();
                       CHECK_FALSE(rank.keeper.keep_now(step));
                     }
                     if (rank.told.empty()) return;
                     CHECK(rank.told.size() == 3);
                     CHECK_FALSE(rank.told[1].is_over);
                     CHECK(rank.told[2].is_over);
                   });
}

TEST_CASE("a save reads the slot of its step, which stays until the save has been written") {
  on_keeping_ranks(
      [](Collectives& collectives, int) { return real_group(collectives); },
      [](KeepingRank& rank) {
        const auto kept_by = [&](std::int64_t step) {
          while (rank.keeper.kept_step() < step) rank.step();
          return rank.keeper.kept_step() == step;
        };
        CHECK(rank.keeper.copy_for_save(0) == nullptr);  // both slots are not in use yet
        rank.step();
        CHECK(rank.keeper.keep_now(1));
        rank.step();
        CHECK(rank.keeper.keep_now(2));
        rank.step();
        std::shared_ptr<SaveCopy> copy = rank.keeper.copy_for_save(3);
        if (copy == nullptr) throw Error(ErrorKind::bug, "no copy");
        CHECK(kept_by(3));
        const std::int64_t next = rank.trainer.finished_steps();
        rank.keeper.begin_due({.step = next}, false);
        CHECK(kept_by(next));
        rank.step();
        rank.keeper.begin_due({.step = rank.trainer.finished_steps()}, false);
        CHECK(rank.keeper.copy_is_free(false));  // the slot of step 3 is being read

        const TempFolder folder;
        ChunkWriter chunk({.path = folder / "chunk"});
        ChunkPart part = copy->write(chunk);
        part.chunk.name = "chunk";
        CHECK(chunk.finish() == part.chunk.bytes);
        std::vector<OpenChunk> chunks(1);
        chunks[0].file = UniqueFd(::open((folder / "chunk").c_str(), O_RDONLY | O_CLOEXEC));
        const auto saved = Checkpoint::of({.chunks = {part.chunk}, .tensors = part.tensors},
                                          std::move(chunks), "test");
        PieceReader reader(saved);
        int pieces = 0;
        for (const TensorEntry& tensor : saved->manifest().tensors)
          for (const StateEntry& state : tensor.states)
            for (const Piece& piece : state.pieces)
              pieces += static_cast<int>(!reader.verified(tensor, state, piece).empty());
        CHECK(pieces > 0);
        copy->end();
        copy.reset();
        const std::int64_t last = rank.trainer.finished_steps();
        rank.keeper.begin_due({.step = last}, false);
        CHECK(kept_by(last));
      });
}

TEST_CASE("a step is not committed while an agent does not hold its slot") {
  on_keeping_ranks([](Collectives& collectives, int) { return real_group(collectives); },
                   [](KeepingRank& rank) {
                     rank.node.refuses = true;
                     rank.step();
                     CHECK_FALSE(rank.keeper.keep_now(1));
                     rank.node.refuses = false;
                     rank.step();
                     CHECK(rank.keeper.keep_now(2));
                     CHECK(rank.node.count() == 2);
                   });
}

TEST_CASE("the thread that keeps a step while training waits has entered the device") {
  CopyCounts counts;
  on_keeping_ranks([](Collectives& collectives, int) { return real_group(collectives); },
                   [](KeepingRank& rank) {
                     rank.step();
                     CHECK(rank.keeper.keep_now(1));
                   },
                   [&](const CpuOptions& options) {
                     Backend backend = make_apart_backend(options);
                     backend.device = std::make_unique<EnteredDevice>(
                         make_cpu_backend(options).device, counts);
                     return backend;
                   });
  CHECK(counts.all > 0);
  CHECK(counts.by_strangers == 0);
}

TEST_CASE("a job that ends completes the share of a save, unless that save is given up") {
  thread_local GatedDevice* device = nullptr;  // of the rank
  for (const bool is_given_up : {false, true}) {
    on_keeping_ranks(
        [](Collectives& collectives, int) {
          return std::make_unique<GateGroup>(real_group(collectives), *device);
        },
        [is_given_up](KeepingRank& rank) {
          for (const std::int64_t step : {1, 2}) {
            rank.step();
            CHECK(rank.keeper.keep_now(step));
          }
          rank.step();
          device->close();
          const std::shared_ptr<SaveCopy> copy = rank.keeper.copy_for_save(3);
          if (copy == nullptr) throw Error(ErrorKind::bug, "no copy");
          rank.keeper.leave(is_given_up);
          const TempFolder folder;
          ChunkWriter chunk({.path = folder / "chunk"});
          if (is_given_up) {
            CHECK_THROWS_AS(copy->write(chunk), Error);
          } else {
            CHECK(copy->write(chunk).chunk.bytes > 0);
          }
          copy->end();
        },
        [](const CpuOptions& options) {
          Backend backend = make_cpu_backend(options);
          auto gated = std::make_unique<GatedDevice>(std::move(backend.device));
          device = gated.get();
          backend.device = std::move(gated);
          return backend;
        });
  }
}
