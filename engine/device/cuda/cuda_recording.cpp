// Recordings by stream capture (CUDA Runtime API, section "Graph Management").
#include "engine/device/cuda/cuda_recording.h"

#include <cuda_runtime_api.h>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_stream.h"

namespace ds::cuda {
namespace {

class CudaRecording final : public Recording {
 public:
  explicit CudaRecording(cudaGraph_t graph) {
    check(cudaGraphInstantiate(&executable_, graph, 0), "creating a CUDA graph");
  }
  ~CudaRecording() override { cudaGraphExecDestroy(executable_); }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;

  /// Returns whether it now runs `graph`: the kernels and their order must be the same. Earlier
  /// launches keep their arguments.
  bool update(cudaGraph_t graph) {
    cudaGraphExecUpdateResultInfo why{};
    const cudaError_t status = cudaGraphExecUpdate(executable_, graph, &why);
    if (status == cudaSuccess) return true;
    cudaGetLastError();
    if (status != cudaErrorGraphExecUpdateFailure) check(status, "updating a CUDA graph");
    return false;
  }

  void issue(Stream& stream) override {
    check(cudaGraphLaunch(executable_, stream_of(stream)), "launching a CUDA graph");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Owns the captured graph, which is only needed to make the executable one.
class CapturedGraph {
 public:
  explicit CapturedGraph(cudaStream_t stream) : stream_(stream) {
    // Relaxed: a library may allocate memory meanwhile, and other threads continue.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "recording a CUDA graph");
  }
  ~CapturedGraph() {
    if (!ended_) static_cast<void>(cudaStreamEndCapture(stream_, &graph_));
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    cudaGetLastError();
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  cudaGraph_t end() {
    ended_ = true;
    check(cudaStreamEndCapture(stream_, &graph_), "recording a CUDA graph");
    return graph_;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Recording> record_graph(Stream& stream, FunctionRef<void()> launch,
                                        std::unique_ptr<Recording> earlier) {
  CapturedGraph captured(stream_of(stream));
  launch();
  const cudaGraph_t graph = captured.end();
  auto* const old = static_cast<CudaRecording*>(earlier.get());
  if (old != nullptr && old->update(graph)) return earlier;
  return std::make_unique<CudaRecording>(graph);
}

}  // namespace ds::cuda
