// Tests the order of queued work: only streams and events restrict it.
#include <cuda.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

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

// Enough for any machine: work that nobody waits for runs beside the test and also draws random
// numbers.
constexpr std::uint64_t kMostSeeds = 300;

/// Returns what stream b reads of stream a's writes, for several seeds; tries more seeds until two
/// values are seen.
std::set<int> values_seen(bool with_wait, std::uint64_t seeds) {
  std::set<int> seen;
  const Streams streams;
  const DeviceArray<int> values(2);
  for (std::uint64_t seed = 1; seed <= seeds && seen.size() < 2; ++seed) {
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

TEST_CASE("a missing wait is detected with some seed, a present one passes with every seed") {
  CHECK(values_seen(true, 30) == std::set<int>{7});
  CHECK(values_seen(false, kMostSeeds) == std::set<int>{0, 7});
}

TEST_CASE("a stream keeps its order, and events report when they have passed") {
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

/// Host memory that the device can access.
struct Registered {
  std::vector<int> values = std::vector<int>(1024);
  Registered() { REQUIRE(cudaHostRegister(values.data(), 4096, 0) == cudaSuccess); }
  ~Registered() { cudaHostUnregister(values.data()); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
};

TEST_CASE("registered memory is read when the copy runs, pageable memory at the call") {
  const Streams streams;
  const DeviceArray<int> values(2);
  Registered pinned;
  std::set<int> from_pinned;
  for (std::uint64_t seed = 1; seed <= kMostSeeds && from_pinned.size() < 2; ++seed) {
    emulation::Knobs knobs;
    knobs.seed = seed;
    emulation::set_knobs(knobs);
    int pageable = 1, back = 0;
    pinned.values[0] = 1;
    REQUIRE(cudaMemcpyAsync(values.data(), pinned.values.data(), 4, cudaMemcpyDefault, streams.a) ==
            cudaSuccess);
    REQUIRE(cudaMemcpyAsync(values.data() + 1, &pageable, 4, cudaMemcpyHostToDevice, streams.b) ==
            cudaSuccess);
    pinned.values[0] = pageable = 2;  // too early for the first
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    from_pinned.insert(values[0]);
    CHECK(values[1] == 1);
    REQUIRE(cudaMemcpyAsync(&back, values.data() + 1, 4, cudaMemcpyDeviceToHost, streams.b) ==
            cudaSuccess);
    CHECK(back == 1);  // already copied
  }
  CHECK(from_pinned == std::set<int>{1, 2});
}

TEST_CASE("copies and fills stay within allocations and reach their target") {
  const DeviceArray<int> values(8);
  Registered pinned;
  CHECK(cudaMemcpyAsync(values.data(), pinned.values.data(), 36, cudaMemcpyDefault) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(values.data() + 7, 0, 8) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(values.data(), pinned.values.data(), 4, cudaMemcpyDeviceToHost) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaHostRegister(pinned.values.data() + 1023, 8, 0) ==
        cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaFree(pinned.values.data()) == cudaErrorInvalidValue);
  REQUIRE(cudaMemset2DAsync(values.data(), 8, 0, 4, 4) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (std::size_t i = 0; i < 8; ++i) CHECK(values[i] == (i % 2 == 0 ? 0 : -1));  // new: 0xFF
  cudaGetLastError();
}

TEST_CASE("a stream waits for a word that a host thread writes") {
  const Streams streams;
  const DeviceArray<int> values(1);
  Registered flag;
  void* found = nullptr;
  REQUIRE(cudaGetDriverEntryPoint("cuStreamWaitValue32", &found, 0) == cudaSuccess);
  const auto wait = reinterpret_cast<decltype(&cuStreamWaitValue32)>(found);
  std::atomic<int> before = 0;
  REQUIRE(wait(streams.a, reinterpret_cast<CUdeviceptr>(flag.values.data()), 5,
               CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS);
  REQUIRE(launch(&put, 1, 1, 0, streams.a, values.data(), 3) == cudaSuccess);
  CHECK(cudaStreamQuery(streams.a) == cudaErrorNotReady);
  std::thread writer([&] {
    before = values[0];
    std::atomic_ref(flag.values[0]).store(5, std::memory_order_release);
  });
  REQUIRE(cudaStreamSynchronize(streams.a) == cudaSuccess);
  writer.join();
  CHECK(before == -1);
  CHECK(values[0] == 3);
}

TEST_CASE("work runs while no host thread waits for it") {
  const Streams streams;
  static std::atomic<int> called = 0;
  called = 0;
  REQUIRE(cudaLaunchHostFunc(
              streams.a,
              [](void*) {
                called = 1;
                called.notify_all();
              },
              nullptr) == cudaSuccess);
  called.wait(0);
  CHECK(called == 1);
}

struct Attempts {
  int left = 3;
  bool* destroyed = nullptr;
};
TEST_CASE("work of fake libraries is attempted until it is done") {
  const Streams streams;
  bool destroyed = false;
  const auto attempt = [](void* self) {
    return --static_cast<Attempts*>(self)->left > 0 ? cudaErrorNotReady : cudaSuccess;
  };
  REQUIRE(emulation::enqueue(streams.a, attempt, new Attempts{3, &destroyed}, [](void* self) {
            const auto* const own = static_cast<Attempts*>(self);
            *own->destroyed = true;
            delete own;
          }) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(streams.a) == cudaSuccess);
  CHECK(destroyed);
}

TEST_CASE("knobs: memory, devices, drivers, failures") {
  emulation::Knobs knobs;
  SUBCASE("memory") {
    knobs.memory = 1 << 20;
    emulation::set_knobs(knobs);
    void* data = nullptr;
    CHECK(cudaMalloc(&data, (1 << 20) + 1) == cudaErrorMemoryAllocation);
    const DeviceArray<char> half(1 << 19);
    std::size_t free = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
    CHECK(free == 1 << 19);
    CHECK(total == 1 << 20);
  }
  SUBCASE("no device") {
    knobs.devices = 0;
    emulation::set_knobs(knobs);
    int count = 7;
    CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    CHECK(count == 0);
  }
  SUBCASE("no driver") {
    knobs.driver = false;
    emulation::set_knobs(knobs);
    int version = 7;
    CHECK(cudaDriverGetVersion(&version) == cudaSuccess);
    CHECK(version == 0);
    CHECK(cudaSetDevice(0) == cudaErrorInsufficientDriver);
  }
  SUBCASE("the second launch fails") {
    const DeviceArray<int> values(1);
    knobs.fail_launch = 2;
    emulation::set_knobs(knobs);
    CHECK(launch(&put, 1, 1, 0, nullptr, values.data(), 1) == cudaSuccess);
    CHECK(launch(&put, 1, 1, 0, nullptr, values.data(), 1) == cudaErrorLaunchOutOfResources);
    CHECK(launch(&put, 1, 1, 0, nullptr, values.data(), 1) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  SUBCASE("the first kernel fails as it runs") {
    const DeviceArray<int> values(1);
    knobs.fail_kernel = 1;
    emulation::set_knobs(knobs);
    launch(&put, 1, 1, 0, nullptr, values.data(), 1);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);  // the device stays unusable
    emulation::reset_faults();
  }
  emulation::set_knobs({});
  cudaGetLastError();
}

__global__ void add_one(int* to) { *to += 1; }

TEST_CASE("a captured graph does nothing until it is launched, and then all of it in order") {
  const Streams streams;
  const DeviceArray<int> values(2);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(streams.a, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  REQUIRE(launch(&add_one, 1, 1, 0, streams.a, values.data()) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(values.data() + 1, values.data(), 4, cudaMemcpyDefault, streams.a) ==
          cudaSuccess);
  SUBCASE("launched three times") {
    REQUIRE(cudaStreamEndCapture(streams.a, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(values[0] == -1);
    for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(executable, streams.b) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(streams.b) == cudaSuccess);
    CHECK(values[0] == 2);
    CHECK(values[1] == 2);
    CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  }
  SUBCASE("updated to other arguments, and not to other work") {
    cudaGraph_t other = nullptr, longer = nullptr;
    cudaGraphExecUpdateResultInfo why{};
    REQUIRE(cudaStreamEndCapture(streams.a, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, streams.b) == cudaSuccess);
    for (cudaGraph_t* const captured : {&other, &longer}) {
      REQUIRE(cudaStreamBeginCapture(streams.a, cudaStreamCaptureModeRelaxed) == cudaSuccess);
      REQUIRE(launch(&add_one, 1, 1, 0, streams.a, values.data() + 1) == cudaSuccess);
      for (int i = 0; i < (captured == &longer ? 2 : 1); ++i)
        REQUIRE(launch(&add_one, 1, 1, 0, streams.a, values.data() + 1) == cudaSuccess);
      REQUIRE(cudaStreamEndCapture(streams.a, captured) == cudaSuccess);
    }
    CHECK(cudaGraphExecUpdate(executable, other, &why) == cudaSuccess);
    CHECK(cudaGraphExecUpdate(executable, longer, &why) == cudaErrorGraphExecUpdateFailure);
    cudaGetLastError();
    REQUIRE(cudaGraphLaunch(executable, streams.b) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(streams.b) == cudaSuccess);
    CHECK(values[0] == 0);  // by the first launch alone
    CHECK(values[1] == 2);
    for (cudaGraph_t const each : {graph, other, longer}) cudaGraphDestroy(each);
    cudaGraphExecDestroy(executable);
  }
  SUBCASE("broken by waiting") {
    CHECK(cudaStreamSynchronize(streams.a) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(streams.a, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    cudaGetLastError();
  }
}

TEST_CASE("launches that no device accepts") {
  const DeviceArray<int> values(1);
  CHECK(launch(&put, 1, 1025, 0, nullptr, values.data(), 1) == cudaErrorInvalidConfiguration);
  CHECK(launch(&put, dim3(1, 65536), 1, 0, nullptr, values.data(), 1) ==
        cudaErrorInvalidConfiguration);
  CHECK(launch(&put, 1, 1, 49153, nullptr, values.data(), 1) == cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(&put, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) ==
          cudaSuccess);
  CHECK(launch(&put, 1, 1, 49153, nullptr, values.data(), 1) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(&put, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449) ==
        cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cudaGetLastError();
}

}  // namespace
}  // namespace ds::test
