// The order of queued work: only streams and events restrict it.
#include <doctest/doctest.h>

#include <set>

#include "launch.h"

namespace ds::test {
namespace {

__global__ void put(int* to, int value) { *to = value; }
__global__ void copy_one(int* to, const int* from) { *to = *from; }

struct Streams {
  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t event = nullptr;
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~Streams() {
    cudaEventDestroy(event);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
};

/// What stream b reads of what stream a writes, for several seeds.
std::set<int> values_seen(bool with_wait) {
  std::set<int> seen;
  const Streams streams;
  const DeviceArray<int> values(2);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    emulation::Knobs knobs;
    knobs.seed = seed;
    emulation::set_knobs(knobs);
    values[0] = 0;
    REQUIRE(launch(&put, 1, 1, 0, streams.a, values.data(), 7) == cudaSuccess);
    REQUIRE(cudaEventRecord(streams.event, streams.a) == cudaSuccess);
    if (with_wait) REQUIRE(cudaStreamWaitEvent(streams.b, streams.event) == cudaSuccess);
    REQUIRE(launch(&copy_one, 1, 1, 0, streams.b, values.data() + 1, values.data()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(streams.b) == cudaSuccess);
    seen.insert(values[1]);
    REQUIRE(cudaStreamSynchronize(streams.a) == cudaSuccess);
  }
  return seen;
}

TEST_CASE("a missing wait shows with some seed, one that is there with none") {
  CHECK(values_seen(true) == std::set<int>{7});
  CHECK(values_seen(false) == std::set<int>{0, 7});
}

TEST_CASE("a stream keeps its order, and events say when they are passed") {
  const Streams streams;
  const DeviceArray<int> values(1);
  CHECK(cudaEventQuery(streams.event) == cudaSuccess);  // never recorded
  for (int i = 0; i < 100; ++i)
    REQUIRE(launch(&put, 1, 1, 0, streams.a, values.data(), i) == cudaSuccess);
  REQUIRE(cudaEventRecord(streams.event, streams.a) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(streams.event) == cudaSuccess);
  CHECK(values[0] == 99);
  CHECK(cudaEventQuery(streams.event) == cudaSuccess);
}

}  // namespace
}  // namespace ds::test
