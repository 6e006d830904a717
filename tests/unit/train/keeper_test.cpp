// Tests of Keeper with ranks as threads: exchanges that never end or fail, slots that the agent
// refuses.
#include "engine/train/keeper.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "engine/base/error.h"
#include "engine/checkpoint/reader.h"
#include "engine/config/load.h"
#include "engine/data/open_data.h"
#include "engine/plugin/plugin.h"
#include "support/apart_device.h"
#include "support/node_files.h"
#include "support/temp_folder.h"
#include "support/thread_collectives.h"

using namespace ds;
using namespace ds::test;

namespace {

constexpr const char* kJob = R"([model]
layers = 1
hidden = 16
heads = 1
[data]
train = "text"
validation = 0
seq_len = 8
[batch]
micro = 1
[zero]
overlap = false
[determinism]
virtual_ranks = 2
[device]
threads = 1
[elastic]
every = 1
[train]
steps = 100000
)";

const GroupSpec kKeepSpec{.name = "keep", .epoch = 0, .ranks = {0, 1}};

/// A group whose exchanges fail: at once, or only after abort().
class BrokenGroup final : public Group {
 public:
  BrokenGroup(int rank, bool is_stuck) : rank_(rank), is_over_(!is_stuck) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] const GroupSpec& spec() const override { return kKeepSpec; }
  void about(std::string_view) override {}
  void all_to_all(SendPieces, ReceivePieces, Deadline) override {
    is_over_.wait(false);
    throw Error(ErrorKind::comm, "no answer from rank 1");
  }
  void all_gather(ReceivePieces, Deadline) override {}
  void combine(std::span<std::byte>, Join, Deadline) override {}
  void barrier(Deadline) override {}
  void abort() override {
    is_over_ = true;
    is_over_.notify_all();
  }

 private:
  const int rank_;
  std::atomic<bool> is_over_;
};

struct CopyCounts {
  std::atomic<int> all = 0, by_strangers = 0;  // strangers: threads that have not entered
};

/// Counts copies. The thread that creates it has entered it.
class EnteredDevice final : public ApartDevice {
 public:
  EnteredDevice(std::unique_ptr<Device> cpu, CopyCounts& counts)
      : ApartDevice(std::move(cpu)), counts_(counts) {
    EnteredDevice::enter_thread();
  }
  void enter_thread() override { entered() = this; }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    ++counts_.all;
    if (entered() != this) ++counts_.by_strangers;
    ApartDevice::copy(to, from, bytes, stream);
  }

 private:
  static EnteredDevice*& entered() {
    thread_local EnteredDevice* device = nullptr;
    return device;
  }

  CopyCounts& counts_;
};

/// What rank 0 is told of keeps that fail.
struct Told {
  std::int64_t step = 0;
  std::string why{};
  bool is_over = false;
};

/// One rank of a job of two nodes.
struct KeepingRank {
  Trainer& trainer;
  Keeper& keeper;
  NodeFiles& node;
  int drops = 0;
  std::vector<Told> told{};

  void step() {
    StepWishes wishes;
    keeper.wish(wishes);
    keeper.follow(trainer.step(wishes));
  }
};

/// Makes the n-th group of a rank, from 0.
using MakeKeepGroup = std::function<std::unique_ptr<Group>(Collectives&, int n)>;

std::unique_ptr<Group> real_group(Collectives& collectives) {
  return collectives.make_group(kKeepSpec, Deadline::after(std::chrono::seconds(60)));
}

using MakeBackend = std::function<Backend(const CpuOptions&)>;

/// Runs `work` on both ranks. Threads must not use REQUIRE.
void on_keeping_ranks(const MakeKeepGroup& make_group,
                      const std::function<void(KeepingRank&)>& work,
                      const MakeBackend& make_accelerator = {}) {
  const TempFolder folder;
  const std::string path = folder.file("train.toml", kJob);
  folder.file("text", std::string(4000, 'a'));
  const auto world = std::make_shared<ThreadWorld>(2);
  std::array<NodeFiles, 2> nodes;
  std::array<std::exception_ptr, 2> errors;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadCollectives collectives(world, rank);
        const auto group = collectives.make_group({.name = "world", .epoch = 0, .ranks = {0, 1}},
                                                  Deadline::after(std::chrono::seconds(60)));
        TrainConfig config = load_train_config({.path = path, .overrides = {}, .world_size = 2});
        config.elastic.keeps = config.elastic.has_buddies = true;
        const DataSet data = open_data(config.data, 7);
        config.data.fields = data.fields;
        const CpuOptions options{.threads = 1, .isa = config.device.isa};
        if (make_accelerator) config.device.backend = "cuda";  // its memory is apart
        Backend backend = make_accelerator ? make_accelerator(options) : make_cpu_backend(options);
        Trainer trainer(config, backend, {.world = group.get()}, data);
        trainer.begin();
        NodeFiles& node = nodes[static_cast<std::size_t>(rank)];
        KeepingRank* self = nullptr;
        int made = 0;
        Keeper keeper(config, trainer, *group, {.run = "job", .node = std::to_string(rank)},
                      {.make_group = [&] { return make_group(collectives, made++); },
                       .hand_in =
                           [&](const KeptFile& file) {
                             node.keep(file);
                             node.require(file.name);
                           },
                       .first_kept = [&] { ++self->drops; },
                       .failed =
                           [&](std::int64_t step, const std::string& why, bool is_over) {
                             self->told.push_back({step, why, is_over});
                           }});
        KeepingRank own{trainer, keeper, node};
        self = &own;
        work(own);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

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
