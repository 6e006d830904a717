// Tests of HeldStates: which bytes are held, for how long, and which ops wait.
#include "engine/execute/held_states.h"

#include <doctest/doctest.h>

#include <atomic>

#include "engine/device/cpu/cpu_device.h"

using ds::HeldStates;
using ds::Stream;
using ds::Tier;

namespace {

/// A copy that ends only when the test allows it.
class SlowCopy {
 public:
  explicit SlowCopy(ds::Device& device) : stream_(device.make_host_stream("copy")) {
    const auto wait = [](void* self, std::size_t) {
      static_cast<SlowCopy*>(self)->may_end_.wait(false);
    };
    stream_->submit({wait, this, 0});
  }
  ~SlowCopy() { let_end(); }
  SlowCopy(const SlowCopy&) = delete;
  SlowCopy& operator=(const SlowCopy&) = delete;
  void let_end() {
    may_end_.store(true);
    may_end_.notify_all();
    stream_->synchronize();
  }
  [[nodiscard]] Stream& stream() { return *stream_; }

 private:
  std::atomic<bool> may_end_{false};
  std::unique_ptr<Stream> stream_;
};

}  // namespace

TEST_CASE("only the given bytes are held") {
  const auto device = ds::make_cpu_device("");
  HeldStates held(*device);
  CHECK(!held.is_any());
  SlowCopy copy(*device);
  held.hold({{Tier::host, 100, 200}, {Tier::device, 300, 400}, {Tier::device, 100, 200}},
            copy.stream());
  CHECK(held.is_any());
  struct Case {
    Tier tier;
    std::int64_t begin, end;
    bool held;
  };
  for (const Case& c : {Case{Tier::device, 0, 100, false}, Case{Tier::device, 0, 101, true},
                        Case{Tier::device, 199, 300, true}, Case{Tier::device, 200, 300, false},
                        Case{Tier::device, 150, 160, true}, Case{Tier::device, 0, 1000, true},
                        Case{Tier::device, 399, 400, true}, Case{Tier::device, 400, 500, false},
                        Case{Tier::host, 0, 100, false}, Case{Tier::host, 300, 400, false},
                        Case{Tier::host, 199, 250, true}, Case{Tier::pinned_host, 100, 200, false},
                        Case{Tier::nvme, 100, 200, false}}) {
    CAPTURE(c.begin);
    CAPTURE(c.end);
    CHECK(held.covers(c.tier, c.begin, c.end) == c.held);
  }
}

TEST_CASE("a waiting stream continues when the copy ends, and then nothing is held") {
  const auto device = ds::make_cpu_device("");
  HeldStates held(*device);
  SlowCopy copy(*device);
  held.hold({{Tier::device, 0, 10}}, copy.stream());
  CHECK(held.first_wait() == ds::Clock::time_point::max());
  const auto writer = device->make_side_stream("writer");
  held.make_wait(*writer);
  CHECK(held.first_wait() <= ds::Clock::now());
  std::atomic<bool> has_written{false};
  const auto write = [](void* flag, std::size_t) {
    static_cast<std::atomic<bool>*>(flag)->store(true);
  };
  writer->submit({write, &has_written, 0});
  CHECK(!has_written.load());
  copy.let_end();
  writer->synchronize();
  CHECK(has_written.load());
  CHECK(!held.is_any());
}

TEST_CASE("an empty copy holds nothing; the next hold starts fresh") {
  const auto device = ds::make_cpu_device("");
  HeldStates held(*device);
  SlowCopy first(*device);
  held.hold({}, first.stream());
  CHECK(!held.is_any());
  first.let_end();
  SlowCopy second(*device);
  held.hold({{Tier::device, 0, 10}}, second.stream());
  CHECK(held.is_any());
  CHECK(held.first_wait() == ds::Clock::time_point::max());
}
