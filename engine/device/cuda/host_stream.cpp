// HostStream: the CPU backend's thread stream plus a current CUDA device and kept wait errors.
#include "engine/device/cuda/host_stream.h"

#include "engine/device/cuda/check.h"

namespace ds::cuda {
namespace {

thread_local HostStream* this_stream = nullptr;

}  // namespace

HostStream::HostStream(const char* name, int device) : name_(name), device_(device), thread_(name) {
  const auto start = [](void* self, std::size_t) {
    auto* const stream = static_cast<HostStream*>(self);
    this_stream = stream;
    stream->note(cudaSetDevice(stream->device_));
  };
  thread_.submit({start, this, 0});
}

void HostStream::synchronize() {
  thread_.synchronize();
  check(failure_.exchange(cudaSuccess), fmt::format("the {} thread waited for the GPU", name_));
}

void HostStream::note(cudaError_t status) {
  cudaError_t none = cudaSuccess;
  if (status != cudaSuccess) failure_.compare_exchange_strong(none, status);
}

HostStream* HostStream::current() { return this_stream; }

}  // namespace ds::cuda
