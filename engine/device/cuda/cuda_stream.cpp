// Making, waiting for and ending CUDA streams.
#include "engine/device/cuda/cuda_stream.h"

#include "engine/device/cuda/check.h"

namespace ds::cuda {

CudaStream::CudaStream(const char* name, int priority) : name_(name) {
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
        "making a CUDA stream");
}

CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::synchronize() {
  check(cudaStreamSynchronize(stream_), fmt::format("waiting for the {} stream", name_));
}

cudaStream_t stream_of(Stream& stream) {
  auto* const own = dynamic_cast<CudaStream*>(&stream);
  DS_ASSERT(own != nullptr, "kernels of the GPU run on its own streams");
  return own->get();
}

}  // namespace ds::cuda
