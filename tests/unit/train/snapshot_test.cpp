// The copy of a rank's states: every byte, at its place, whoever copies it.
#include "engine/train/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "engine/program/offload.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// The CPU that says host code cannot reach the device's memory, and counts what it copies.
class FarDevice final : public Device {
 public:
  explicit FarDevice(std::unique_ptr<Device> cpu) : cpu_(std::move(cpu)) {}
  [[nodiscard]] std::string description() const override { return cpu_->description(); }
  [[nodiscard]] std::size_t free_bytes(Tier tier) const override { return cpu_->free_bytes(tier); }
  std::unique_ptr<Arena> allocate(Tier tier, std::size_t bytes) override {
    return cpu_->allocate(tier, bytes);
  }
  [[nodiscard]] bool is_host() const override { return false; }
  std::unique_ptr<Stream> make_stream() override { return cpu_->make_stream(); }
  std::unique_ptr<Stream> make_side_stream(const char* name) override {
    return cpu_->make_side_stream(name);
  }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    return cpu_->make_host_stream(name);
  }
  std::unique_ptr<Event> make_event() override { return cpu_->make_event(); }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    copied += static_cast<std::int64_t>(bytes);
    cpu_->copy(to, from, bytes, stream);
  }
  void zero(void* data, std::size_t bytes, Stream& stream) override {
    cpu_->zero(data, bytes, stream);
  }

  std::int64_t copied = 0;

 private:
  std::unique_ptr<Device> cpu_;
};

/// Memory of rank 1 of 2, with other bytes everywhere; nothing runs.
class Rank {
 public:
  Rank(int stage, bool split_master, Tier states, std::int64_t width, bool far = false) {
    if (far) {
      auto device = std::make_unique<FarDevice>(std::move(backend_.device));
      far_ = device.get();
      backend_.device = std::move(device);
    }
    spec_ = spec_of(1, 2, 2, 1, stage >= 2 ? ShardSpec::Order::step : ShardSpec::Order::boundary);
    spec_.stage = stage;
    spec_.update.split_master = split_master;
    ModelConfig config = tiny_config();
    config.hidden = width;
    config.ffn = 4 * width;
    const DType act = split_master ? DType::bf16 : DType::f32;
    const Program forward =
        build_gpt2(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = act});
    step_ = offload_states(shard(differentiate(forward), spec_), {.states = states});
    step_.ops.clear();
    const PlacementPlan plan = place({&step_}, 0);
    place_.streams[0] = stream_.get();
    for (const Tier tier : {Tier::device, Tier::host}) {
      const auto t = static_cast<std::size_t>(tier);
      memory_[t].resize(static_cast<std::size_t>(plan.of(tier).total_bytes));
      for (std::size_t i = 0; i < memory_[t].size(); ++i)
        memory_[t][i] = static_cast<std::byte>((i * 31 + i / 257 + t) % 251);
      place_.memory[t] = memory_[t].data();
    }
    executor_.emplace(step_, plan.offsets[0], edges_of(step_, plan.offsets[0]), backend_, place_);
  }

  [[nodiscard]] std::vector<SavedTile> tiles() const { return saved_tiles(step_, spec_); }

  [[nodiscard]] std::vector<std::byte> snapshot(int threads) {
    std::vector<std::byte> copy(static_cast<std::size_t>(snapshot_bytes_of(tiles())));
    copy_snapshot({.executor = *executor_,
                   .device = *backend_.device,
                   .stream = *stream_,
                   .threads = threads},
                  tiles(), copy.data());
    return copy;
  }

  /// Bytes that the device has copied itself.
  [[nodiscard]] std::int64_t copied_by_device() const { return far_->copied; }

  /// Whether `copy` at `at` is elements [offset, offset + elements) of the value.
  [[nodiscard]] bool is_copied(const std::vector<std::byte>& copy, std::int64_t at, ValueId id,
                               std::int64_t offset, std::int64_t elements) const {
    const Tensor tensor = executor_->tensor(id);
    const std::int64_t size = size_of(tensor.dtype);
    return std::memcmp(copy.data() + at, static_cast<const std::byte*>(tensor.data) + offset * size,
                       static_cast<std::size_t>(elements * size)) == 0;
  }

 private:
  Backend backend_ = make_cpu_backend({.threads = 1, .isa = "auto"});
  FarDevice* far_ = nullptr;
  std::unique_ptr<Stream> stream_ = backend_.device->make_stream();
  ShardSpec spec_;
  Program step_;
  std::array<std::vector<std::byte>, kTiers> memory_;
  Workplace place_;
  std::optional<Executor> executor_;
};

void check(Rank& rank, int threads) {
  const std::vector<std::byte> copy = rank.snapshot(threads);
  REQUIRE(!copy.empty());
  for (const SavedTile& tile : rank.tiles()) {
    CHECK(rank.is_copied(copy, tile.snapshot_at, tile.value, tile.offset, tile.elements));
    if (tile.high == kNoValue) continue;
    const std::int64_t low_bytes = tile.elements * 2;
    CHECK(rank.is_copied(copy, tile.snapshot_at + low_bytes, tile.high, tile.high_offset,
                         tile.elements));
  }
}

}  // namespace

TEST_CASE("a snapshot has every byte at every stage, of states on the device and on the host") {
  for (const int stage : {0, 1, 2, 3}) {
    for (const int threads : {1, 3}) {
      CAPTURE(stage);
      Rank whole(stage, false, Tier::device, 16), halves(stage, true, Tier::device, 16),
          host(stage, false, Tier::host, 16);
      check(whole, threads);
      check(halves, threads);
      check(host, threads);
    }
  }
}

TEST_CASE("long states are copied in blocks by several threads") {
  Rank rank(0, false, Tier::device, 512);
  check(rank, 2);
}

TEST_CASE("a device whose memory host code cannot reach copies it itself, and only that") {
  for (const bool split : {false, true}) {
    Rank near(1, split, Tier::device, 16, true);
    check(near, 2);
    CHECK(near.copied_by_device() == snapshot_bytes_of(near.tiles()));
  }
  Rank host(1, false, Tier::host, 16, true);
  check(host, 2);
  CHECK(host.copied_by_device() == 0);
}

TEST_CASE("states in files are no part of a snapshot") {
  Rank rank(1, false, Tier::nvme, 16);
  CHECK(rank.snapshot(2).empty());
}

TEST_CASE("touched memory keeps its bytes") {
  std::vector<std::byte> memory(3 * 4096 + 17, std::byte{7});
  touch_pages(memory);
  CHECK(std::ranges::count(memory, std::byte{7}) == std::ssize(memory));
}
