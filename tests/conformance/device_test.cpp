// Tests of memory, copies, streams and events of a device; the same body for every backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "conformance/device_under_test.h"
#include "engine/base/error.h"

using namespace ds;
using ds::conformance::device_under_test;

namespace {

constexpr std::array kMemory{Tier::device, Tier::pinned_host, Tier::host};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>((i * 131 + i / 251 + seed) & 0xFF);
  return data;
}

/// Moves bytes into and out of any tier through memory that both sides can access.
class Ferry {
 public:
  explicit Ferry(std::size_t bytes)
      : pinned_(device_under_test().allocate(Tier::pinned_host, bytes)),
        stream_(device_under_test().make_stream()) {}

  void put(std::byte* to, const std::vector<std::byte>& data) {
    std::memcpy(pinned_->data(), data.data(), data.size());
    device_under_test().copy(to, pinned_->data(), data.size(), *stream_);
    stream_->synchronize();
  }
  std::vector<std::byte> take(const std::byte* from, std::size_t bytes) {
    device_under_test().copy(pinned_->data(), from, bytes, *stream_);
    stream_->synchronize();
    return {pinned_->data(), pinned_->data() + bytes};
  }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Arena> pinned_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace

TEST_CASE("an arena has the requested size in every tier, also 0") {
  for (const Tier tier : kMemory) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{4097}, (std::size_t{33} << 20) + 5}) {
      const auto arena = device_under_test().allocate(tier, bytes);
      CHECK(arena->bytes() == bytes);
      if (bytes == 0) continue;
      CHECK(reinterpret_cast<std::uintptr_t>(arena->data()) % 256 == 0);
      Ferry ferry(3);
      const std::vector<std::byte> end = pattern(std::min<std::size_t>(bytes, 3), 7);
      ferry.put(arena->data() + bytes - end.size(), end);
      CHECK(ferry.take(arena->data() + bytes - end.size(), end.size()) == end);
    }
  }
}

TEST_CASE("allocating too much fails and names both numbers") {
  for (const Tier tier : kMemory) {
    constexpr std::size_t kTooMuch = std::size_t{1} << 52;
    try {
      device_under_test().allocate(tier, kTooMuch);
      FAIL("a petabyte was allocated");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::config);
      const std::string message = error.what();
      CHECK(message.find(std::to_string(kTooMuch)) != std::string::npos);
      CHECK(message.find("are free") != std::string::npos);
      CHECK(!error.hint().empty());
    }
  }
}

TEST_CASE("copies between any two tiers, of odd sizes at odd addresses") {
  constexpr std::size_t kRoom = 3 << 20;
  Ferry ferry(kRoom);
  for (const Tier from : kMemory) {
    for (const Tier to : kMemory) {
      const auto source = device_under_test().allocate(from, kRoom);
      const auto target = device_under_test().allocate(to, kRoom);
      for (const std::size_t bytes : {1U, 63U, 4099U, (2U << 20) + 17U}) {
        const std::vector<std::byte> data = pattern(bytes, static_cast<unsigned>(bytes));
        ferry.put(source->data() + 5, data);
        device_under_test().zero(target->data(), kRoom, ferry.stream());
        device_under_test().copy(target->data() + 11, source->data() + 5, bytes, ferry.stream());
        ferry.stream().synchronize();
        CHECK(ferry.take(target->data() + 11, bytes) == data);
        CHECK(ferry.take(target->data() + 10, 1)[0] == std::byte{0});
        CHECK(ferry.take(target->data() + 11 + bytes, 1)[0] == std::byte{0});
      }
    }
  }
}

TEST_CASE("zero clears its range and nothing else") {
  Ferry ferry(64);
  for (const Tier tier : kMemory) {
    const auto arena = device_under_test().allocate(tier, 64);
    ferry.put(arena->data(), std::vector<std::byte>(64, std::byte{0xFF}));
    device_under_test().zero(arena->data() + 7, 50, ferry.stream());
    const std::vector<std::byte> found = ferry.take(arena->data(), 64);
    for (std::size_t i = 0; i < 64; ++i)
      CHECK(found[i] == (i >= 7 && i < 57 ? std::byte{0} : std::byte{0xFF}));
  }
}

TEST_CASE("a host stream's copies and zeroing are done by its thread") {
  constexpr std::size_t kBytes = (2 << 20) + 3;
  struct Job {
    std::unique_ptr<Arena> from, to;
    Stream* stream;
  } job{device_under_test().allocate(Tier::host, kBytes),
        device_under_test().allocate(Tier::pinned_host, kBytes), nullptr};
  const std::vector<std::byte> data = pattern(kBytes, 3);
  std::memcpy(job.from->data(), data.data(), kBytes);
  const auto stream = device_under_test().make_host_stream("hosts");
  job.stream = stream.get();
  const auto work = [](void* self, std::size_t) {
    auto& own = *static_cast<Job*>(self);
    device_under_test().copy(own.to->data(), own.from->data(), kBytes, *own.stream);
    device_under_test().zero(own.to->data(), 2, *own.stream);
  };
  stream->submit({work, &job, 0});
  stream->synchronize();
  CHECK(job.to->data()[0] == std::byte{0});
  CHECK(std::memcmp(job.to->data() + 2, data.data() + 2, kBytes - 2) == 0);
}

namespace {

/// A random program over streams of the device and the host, and the result of running its steps
/// one after another.
class Schedule {
 public:
  static constexpr std::size_t kBuffers = 6, kWords = 300, kStreams = 5;

  explicit Schedule(unsigned seed) : random_(seed) {
    Device& device = device_under_test();
    memory_ = device.allocate(Tier::pinned_host, kBuffers * kWords * 4);
    streams_[0] = device.make_stream();
    streams_[1] = device.make_side_stream("gather");
    streams_[2] = device.make_side_stream("fetch");
    streams_[3] = device.make_host_stream("update");
    streams_[4] = device.make_host_stream("files");
    for (auto& event : events_) event = device.make_event();
    expected_.resize(kBuffers * kWords);
    std::iota(expected_.begin(), expected_.end(), 1U);
    std::memcpy(memory_->data(), expected_.data(), expected_.size() * 4);
  }
  ~Schedule() {
    for (auto& stream : streams_) stream->synchronize();
  }

  /// Issues `count` steps. Each stream records one event again and again, also while others still
  /// wait for an earlier point of it.
  void issue(std::size_t count) {
    steps_.reserve(steps_.size() + count);  // submitted work points into it
    for (std::size_t i = 0; i < count; ++i) issue_one();
  }
  bool is_right() {
    for (auto& stream : streams_) stream->synchronize();
    for (auto& event : events_) CHECK(event->has_passed());
    return std::memcmp(memory_->data(), expected_.data(), expected_.size() * 4) == 0;
  }

 private:
  struct Step {
    Schedule* self;
    std::size_t from, to, stream;
    std::uint32_t constant;
  };
  std::uint32_t* buffer(std::size_t index) {
    return reinterpret_cast<std::uint32_t*>(memory_->data()) + index * kWords;
  }
  std::size_t pick(std::size_t count) { return random_() % count; }

  void issue_one() {
    Step step{this, pick(kBuffers), pick(kBuffers), pick(kStreams),
              static_cast<std::uint32_t>(random_())};
    while (step.to == step.from) step.to = pick(kBuffers);
    // Waits for the streams that last wrote the step's source, and all that accessed its target.
    std::array<bool, kStreams> waits{};
    for (std::size_t s = 0; s < kStreams; ++s)
      waits[s] =
          s != step.stream && (wrote_[step.from][s] || wrote_[step.to][s] || read_[step.to][s]);
    for (std::size_t s = 0; s < kStreams; ++s)
      if (waits[s]) events_[s]->make_wait(*streams_[step.stream]);
    steps_.push_back(step);
    const auto run = [](void* self, std::size_t) {
      const auto& own = *static_cast<Step*>(self);
      own.self->run(own);
    };
    streams_[step.stream]->submit({run, &steps_.back(), 0});
    events_[step.stream]->record(*streams_[step.stream]);
    wrote_[step.to] = {};  // this step came after those accesses
    read_[step.to] = {};
    wrote_[step.to][step.stream] = true;
    read_[step.from][step.stream] = true;
    follow(step, expected_.data() + step.from * kWords, expected_.data() + step.to * kWords);
  }

  static bool is_of_host(const Step& step) { return step.stream >= 3; }
  /// Performs a step at once.
  static void follow(const Step& step, const std::uint32_t* from, std::uint32_t* to) {
    for (std::size_t i = 0; i < kWords; ++i)
      to[i] = is_of_host(step) ? to[i] * 3 + from[i] + step.constant : from[i];
  }
  void run(const Step& step) {
    if (is_of_host(step)) {
      follow(step, buffer(step.from), buffer(step.to));
    } else {
      device_under_test().copy(buffer(step.to), buffer(step.from), kWords * 4,
                               *streams_[step.stream]);
    }
  }

  std::mt19937 random_;
  std::unique_ptr<Arena> memory_;
  std::array<std::unique_ptr<Stream>, kStreams> streams_;
  std::array<std::unique_ptr<Event>, kStreams> events_;
  std::vector<std::uint32_t> expected_;
  std::vector<Step> steps_;
  std::array<std::array<bool, kStreams>, kBuffers> wrote_{}, read_{};
};

}  // namespace

TEST_CASE("events order streams of the device and threads of the host, in every direction") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Schedule schedule(seed);
    schedule.issue(60);
    CHECK_MESSAGE(schedule.is_right(), "seed " << seed);
  }
}

TEST_CASE("an event that was never recorded does not block") {
  const auto stream = device_under_test().make_stream();
  const auto host = device_under_test().make_host_stream("host");
  const auto event = device_under_test().make_event();
  CHECK(event->has_passed());
  event->make_wait(*stream);
  event->make_wait(*host);
  stream->synchronize();
  host->synchronize();
}

TEST_CASE("device and host wait for each other while both continue to issue") {
  struct Gate {
    std::atomic<bool> open{false};
    std::atomic<int> passed{0};
  } gate;
  Device& device = device_under_test();
  const auto host = device.make_host_stream("host");
  const auto after = device.make_host_stream("after");
  const auto stream = device.make_side_stream("reduce");
  const auto opened = device.make_event(), copied = device.make_event();
  const auto memory = device.allocate(Tier::pinned_host, 8);
  std::memset(memory->data(), 1, 8);
  const auto wait = [](void* self, std::size_t) { static_cast<Gate*>(self)->open.wait(false); };
  const auto pass = [](void* self, std::size_t) { ++static_cast<Gate*>(self)->passed; };
  host->submit({wait, &gate, 0});
  opened->record(*host);
  if (!device.is_host()) {
    opened->make_wait(*stream);
    device.zero(memory->data(), 8, *stream);
    copied->record(*stream);
    copied->make_wait(*after);
  } else {
    opened->make_wait(*after);
  }
  after->submit({pass, &gate, 0});
  CHECK(!opened->has_passed());
  CHECK(gate.passed == 0);
  CHECK(memory->data()[0] == std::byte{1});
  gate.open = true;
  gate.open.notify_all();
  after->synchronize();
  CHECK(gate.passed == 1);
  CHECK(opened->has_passed());
  if (!device.is_host()) CHECK(memory->data()[7] == std::byte{0});
  stream->synchronize();
}

TEST_CASE("a recording does nothing when made, and its work each time it is issued") {
  Device& device = device_under_test();
  const auto stream = device.make_stream();
  const auto memory = device.allocate(Tier::device, 4096);
  Ferry ferry(4096);
  ferry.put(memory->data(), pattern(4096, 1));
  std::size_t zeros = 512;
  const auto launch = [&] {
    device.copy(memory->data() + 2048, memory->data(), 1024, *stream);
    device.zero(memory->data(), zeros, *stream);
  };
  auto recording = device.record(*stream, launch, nullptr);
  if (!recording) return;  // the device cannot record
  stream->synchronize();
  CHECK(ferry.take(memory->data(), 4096) == pattern(4096, 1));
  std::vector<std::byte> expected = pattern(4096, 1);
  for (int time = 0; time < 3; ++time) {
    std::copy_n(expected.begin(), 1024, expected.begin() + 2048);
    std::fill_n(expected.begin(), zeros, std::byte{0});
    recording->issue(*stream);
    if (time > 0) continue;
    zeros = 256;  // another argument for the same work; what was issued keeps its own
    recording = device.record(*stream, launch, std::move(recording));
  }
  stream->synchronize();
  CHECK(ferry.take(memory->data(), 4096) == expected);
  CHECK_THROWS_AS(static_cast<void>(device.record(
                      *stream, [] { throw Error(ErrorKind::system, "of the launch"); }, nullptr)),
                  Error);
  device.zero(memory->data(), 4096, *stream);  // the stream works as before
  stream->synchronize();
  CHECK(ferry.take(memory->data(), 4096) == std::vector<std::byte>(4096, std::byte{0}));
}

TEST_CASE("a device describes itself and its free memory") {
  CHECK(!device_under_test().description().empty());
  for (const Tier tier : kMemory) CHECK(device_under_test().free_bytes(tier) > 0);
}
