// Tests of Snapshot: every byte is copied to its place as it was at the start, on every kind of
// device.
#include "engine/states/snapshot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "engine/program/offload.h"
#include "support/apart_device.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// Counts the bytes that it copies itself.
class FarDevice final : public ApartDevice {
 public:
  using ApartDevice::ApartDevice;
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    copied += static_cast<std::int64_t>(bytes);
    ApartDevice::copy(to, from, bytes, stream);
  }

  std::int64_t copied = 0;
};

/// A CPU whose host streams start to work only when an event is about to be waited for, or when the
/// test allows it.
class LateDevice final : public ApartDevice {
 public:
  using ApartDevice::ApartDevice;
  [[nodiscard]] bool is_host() const override { return true; }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    auto stream = ApartDevice::make_host_stream(name);
    const auto wait = [](void* self, std::size_t) {
      static_cast<LateDevice*>(self)->may_begin_.wait(false);
    };
    may_begin_.store(false);
    stream->submit({wait, this, 0});
    return stream;
  }
  std::unique_ptr<Event> make_event() override {
    return std::make_unique<LateEvent>(*this, ApartDevice::make_event());
  }
  void let_begin() {
    may_begin_.store(true);
    may_begin_.notify_all();
  }

 private:
  class LateEvent final : public Event {
   public:
    LateEvent(LateDevice& device, std::unique_ptr<Event> event)
        : device_(device), event_(std::move(event)) {}
    void record(Stream& stream) override { event_->record(stream); }
    void make_wait(Stream& stream) override {
      device_.let_begin();
      event_->make_wait(stream);
    }
    [[nodiscard]] bool has_passed() override { return event_->has_passed(); }

   private:
    LateDevice& device_;
    std::unique_ptr<Event> event_;
  };
  std::atomic<bool> may_begin_{true};
};

/// Memory of rank 1 of 2 with different bytes everywhere. With `Ops::clear` its program is one op
/// that sets all states to zero.
class Rank {
 public:
  enum class Ops { none, clear };
  enum class Place { here, far, late };
  Rank(int stage, bool split_master, Tier states, std::int64_t width, Place where = Place::here,
       Ops ops = Ops::none) {
    if (where == Place::far) far_ = wrap<FarDevice>();
    if (where == Place::late) late_ = wrap<LateDevice>();
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
    if (ops == Ops::clear) step_.ops.push_back(clear_states());
    const PlacementPlan plan = place({&step_}, 0);
    place_.streams[0] = stream_.get();
    held_.emplace(*backend_.device);
    place_.held = &*held_;
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

  /// Runs `meanwhile` between the begin and the end of the copy.
  template <class Meanwhile>
  [[nodiscard]] std::vector<std::byte> snapshot(int threads, const Meanwhile& meanwhile) {
    std::vector<std::byte> copy(static_cast<std::size_t>(snapshot_bytes_of(tiles())));
    Snapshot snapshot(*backend_.device, *held_, copy, threads);
    snapshot.begin(*executor_, tiles());
    meanwhile();
    snapshot.wait();
    times = snapshot.end();
    return copy;
  }
  [[nodiscard]] std::vector<std::byte> snapshot(int threads) {
    return snapshot(threads, [] {});
  }
  /// Runs the program. The copy of a late device begins after it at the latest.
  void run() {
    StepContext context;
    executor_->run(context);
    if (late_ != nullptr) late_->let_begin();
  }

  SnapshotTimes times;  // of the last snapshot

  /// Returns the bytes that the device has copied itself.
  [[nodiscard]] std::int64_t copied_by_device() const { return far_->copied; }

  /// Returns whether `copy` at `at` has the elements [offset, offset + elements) of the value.
  [[nodiscard]] bool is_copied(const std::vector<std::byte>& copy, std::int64_t at, ValueId id,
                               std::int64_t offset, std::int64_t elements) const {
    const Tensor tensor = executor_->tensor(id);
    const std::int64_t size = size_of(tensor.dtype);
    return std::memcmp(copy.data() + at, static_cast<const std::byte*>(tensor.data) + offset * size,
                       static_cast<std::size_t>(elements * size)) == 0;
  }

 private:
  [[nodiscard]] Op clear_states() const {
    Op op{.attrs = ops::Clear{}, .path = "forget"};
    for (const ParamGroup& group : step_.groups) {
      for (const StateTile& tile : group.states)
        op.out.insert(op.out.end(), {tile.master, tile.moment1, tile.moment2});
    }
    return op;
  }

  template <class Wrapper>
  Wrapper* wrap() {
    auto device = std::make_unique<Wrapper>(std::move(backend_.device));
    Wrapper* const made = device.get();
    backend_.device = std::move(device);
    return made;
  }

  Backend backend_ = make_cpu_backend({.threads = 1, .isa = "auto"});
  FarDevice* far_ = nullptr;
  LateDevice* late_ = nullptr;
  std::unique_ptr<Stream> stream_ = backend_.device->make_stream();
  ShardSpec spec_;
  Program step_;
  std::array<std::vector<std::byte>, kTiers> memory_;
  std::optional<HeldStates> held_;
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

TEST_CASE("a device copies only the memory that host code cannot reach") {
  for (const bool split : {false, true}) {
    Rank near(1, split, Tier::device, 16, Rank::Place::far);
    check(near, 2);
    CHECK(near.copied_by_device() == snapshot_bytes_of(near.tiles()));
  }
  Rank host(1, false, Tier::host, 16, Rank::Place::far);
  check(host, 2);
  CHECK(host.copied_by_device() == 0);
}

TEST_CASE("an op that writes states waits until they are copied, however late") {
  using Place = Rank::Place;
  for (const Place place : {Place::here, Place::far, Place::late}) {
    CAPTURE(static_cast<int>(place));
    Rank rank(1, false, Tier::device, 64, place, Rank::Ops::clear);
    const std::vector<std::byte> before = Rank(1, false, Tier::device, 64).snapshot(1);
    CHECK(rank.snapshot(1, [&] { rank.run(); }) == before);
    CHECK(rank.times.copied_s > 0);
    CHECK(rank.times.stall_s <= rank.times.copied_s);
    if (place == Place::late) CHECK(rank.times.stall_s > 0);
    // The states were written in the end.
    const std::vector<std::byte> after = rank.snapshot(1, [&] { rank.run(); });
    for (const SavedTile& tile : rank.tiles()) {
      const auto* const first = after.data() + tile.snapshot_at;
      CHECK(std::all_of(first, first + tile.elements * 4, [](auto b) { return b == std::byte{}; }));
    }
  }
}

TEST_CASE("states in files are not in the snapshot") {
  Rank rank(1, false, Tier::nvme, 16);
  CHECK(rank.snapshot(2).empty());
}

TEST_CASE("touched memory keeps its bytes") {
  std::vector<std::byte> memory(3 * 4096 + 17, std::byte{7});
  touch_pages(memory);
  CHECK(std::ranges::count(memory, std::byte{7}) == std::ssize(memory));
}
