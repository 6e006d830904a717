// Tests of the CUDA device on the emulation: device_test.cpp, and failures of the device.
#include <doctest/doctest.h>

#include "conformance/device_under_test.h"
#include "cuda_emulation.h"
#include "engine/base/error.h"
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_stream.h"
#include "engine/device/cuda/describe.h"
#include "engine/device/cuda/pinned_memory.h"

using namespace ds;

namespace {

/// Changes the emulated machine for a scope.
class Machine {
 public:
  explicit Machine(const emulation::Knobs& knobs) : before_(emulation::knobs()) {
    emulation::set_knobs(knobs);
  }
  ~Machine() {
    emulation::set_knobs(before_);
    emulation::reset_faults();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 private:
  emulation::Knobs before_;
};

std::string why_no_device(int local_rank, int local_ranks = 1) {
  try {
    cuda::make_cuda_device(local_rank, local_ranks);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.for_people();
  }
  return "made";
}

/// Ends the device asynchronously, as a kernel with a wrong address does.
void plant_fault(Stream& stream) {
  const auto fail = [](void*) { return cudaErrorIllegalAddress; };
  const auto nothing = [](void*) {};
  REQUIRE(emulation::enqueue(cuda::stream_of(stream), fail, nullptr, nothing) == cudaSuccess);
}

template <class Call>
std::string said_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.for_people();
  }
  return {};
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

namespace ds::conformance {

Device& device_under_test() {
  static Device* const device = cuda::make_cuda_device(0, 1).release();
  return *device;
}

}  // namespace ds::conformance

TEST_CASE("each reason for an unusable device has its own message") {
  {
    const Machine none({.devices = 0});
    CHECK(has(why_no_device(0), "no CUDA device"));
    CHECK(cuda::device_count() == 0);
  }
  {
    const Machine no_driver({.driver = false});
    const std::string why = why_no_device(0);
    CHECK((has(why, "no NVIDIA driver") || has(why, "driver is too old")));
    CHECK(cuda::device_count() == 0);
  }
  {
    const Machine old({.major = 7, .minor = 5});
    CHECK(has(why_no_device(0), "compute capability 7.5, but 8.0 is needed"));
  }
  {
    const Machine two({.devices = 2});
    CHECK(why_no_device(1, 2) == "made");
    CHECK(has(why_no_device(0, 3), "3 ranks on this node need a GPU each"));
    CHECK(has(cuda::report(), "device 1: Emulated GPU"));
  }
}

TEST_CASE("memory that libraries have allocated is not reserved again") {
  const std::unique_ptr<Device> device = cuda::make_cuda_device(0, 1);
  const std::size_t before = device->free_bytes(Tier::device);
  void* library = nullptr;
  REQUIRE(cudaMalloc(&library, 1 << 20) == cudaSuccess);
  CHECK(device->free_bytes(Tier::device) == before);
  {
    const std::unique_ptr<Arena> arena = device->allocate(Tier::device, 3 << 20);
    CHECK(device->free_bytes(Tier::device) == before - (3 << 20));
  }
  CHECK(device->free_bytes(Tier::device) == before);
  REQUIRE(cudaFree(library) == cudaSuccess);
}

TEST_CASE("errors of the runtime have a text and, where known, a hint") {
  const Error memory = cuda::error_of(cudaErrorMemoryAllocation, "block1.mlp");
  CHECK(memory.kind() == ErrorKind::config);
  CHECK(std::string(memory.what()).starts_with("block1.mlp: "));
  CHECK(has(memory.what(), "(cudaErrorMemoryAllocation, CUDA error 2)"));
  CHECK(!memory.hint().empty());
  const Error other = cuda::error_of(cudaErrorInvalidValue, "a copy");
  CHECK(other.kind() == ErrorKind::system);
  CHECK(has(other.what(), "cudaErrorInvalidValue"));
}

TEST_CASE("threads that touch pages: one per 256 MiB, limited by the CPUs") {
  CHECK(cuda::touching_threads(1, 8) == 1);
  CHECK(cuda::touching_threads(std::size_t{1} << 30, 8) == 5);
  CHECK(cuda::touching_threads(std::size_t{1} << 40, 64) == 16);
  CHECK(cuda::touching_threads(std::size_t{1} << 40, 2) == 2);
}

TEST_CASE("after an error that ends the device, nothing hangs and every wait reports it") {
  Device& device = conformance::device_under_test();
  const auto stream = device.make_stream(), other = device.make_side_stream("gather");
  const auto host = device.make_host_stream("host");
  const auto failed = device.make_event(), done = device.make_event();
  const auto memory = device.allocate(Tier::pinned_host, 64);
  int ran = 0;
  const auto work = [](void* self, std::size_t) { ++*static_cast<int*>(self); };
  plant_fault(*stream);
  failed->record(*stream);
  failed->make_wait(*host);  // waits for an event that never passes; must be released
  host->submit({work, &ran, 0});
  done->record(*host);
  done->make_wait(*other);
  CHECK(has(said_by([&] { stream->synchronize(); }), "waiting for the compute stream: "));
  CHECK(has(said_by([&] { host->synchronize(); }), "cudaErrorIllegalAddress"));
  CHECK(ran == 1);
  CHECK(failed->has_passed());
  CHECK(has(said_by([&] { device.copy(memory->data(), memory->data() + 32, 8, *stream); }),
            "a copy: "));
  // Waits and records have no op to blame, so the stream reports them in synchronize().
  failed->record(*stream);
  failed->make_wait(*other);
  CHECK(has(said_by([&] { other->synchronize(); }), "waiting for the gather stream: "));
  emulation::reset_faults();
}
