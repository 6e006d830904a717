// Ranks as threads that train and keep their states, and groups and devices that fail or wait.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/load.h"
#include "engine/data/open_data.h"
#include "engine/plugin/plugin.h"
#include "engine/train/keeper.h"
#include "support/apart_device.h"
#include "support/node_files.h"
#include "support/temp_folder.h"
#include "support/thread_collectives.h"

namespace ds::test {

inline constexpr const char* kKeepingJob = R"([model]
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

inline const GroupSpec kKeepSpec{.name = "keep", .epoch = 0, .ranks = {0, 1}};

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

/// A CPU whose snapshots wait while its gate is closed.
class GatedDevice final : public ApartDevice {
 public:
  explicit GatedDevice(std::unique_ptr<Device> cpu) : ApartDevice(std::move(cpu)) {}
  [[nodiscard]] bool is_host() const override { return true; }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    auto stream = ApartDevice::make_host_stream(name);
    if (std::string_view(name) == "snapshot") snapshots_ = stream.get();
    return stream;
  }
  void close() {
    is_open_ = false;
    const auto wait = [](void* self, std::size_t) {
      static_cast<GatedDevice*>(self)->is_open_.wait(false);
    };
    snapshots_->submit({wait, this, 0});
  }
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }

 private:
  std::atomic<bool> is_open_ = true;
  Stream* snapshots_ = nullptr;
};

/// A group that opens the gate once it is aborted.
class GateGroup final : public Group {
 public:
  GateGroup(std::unique_ptr<Group> group, GatedDevice& gate)
      : group_(std::move(group)), gate_(gate) {}
  [[nodiscard]] int rank() const override { return group_->rank(); }
  [[nodiscard]] int size() const override { return group_->size(); }
  [[nodiscard]] const GroupSpec& spec() const override { return group_->spec(); }
  void about(std::string_view path) override { group_->about(path); }
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override {
    group_->all_to_all(send, receive, deadline);
  }
  void all_gather(ReceivePieces pieces, Deadline deadline) override {
    group_->all_gather(pieces, deadline);
  }
  void combine(std::span<std::byte> value, Join join, Deadline deadline) override {
    group_->combine(value, join, deadline);
  }
  void barrier(Deadline deadline) override { group_->barrier(deadline); }
  void abort() override {
    group_->abort();
    gate_.open();
  }

 private:
  const std::unique_ptr<Group> group_;
  GatedDevice& gate_;
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

inline std::unique_ptr<Group> real_group(Collectives& collectives) {
  return collectives.make_group(kKeepSpec, Deadline::after(std::chrono::seconds(60)));
}

using MakeBackend = std::function<Backend(const CpuOptions&)>;

/// Runs `work` on both ranks. Threads must not use REQUIRE.
inline void on_keeping_ranks(const MakeKeepGroup& make_group,
                      const std::function<void(KeepingRank&)>& work,
                      const MakeBackend& make_backend = make_cpu_backend) {
  const TempFolder folder;
  const std::string path = folder.file("train.toml", kKeepingJob);
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
        Backend backend = make_backend({.threads = 1, .isa = config.device.isa});
        if (!backend.device->is_host()) config.device.backend = "cuda";  // its memory is apart
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

}  // namespace ds::test
