// CUDA's functions for graphs, by capture of one stream. During capture, events, waits and copies
// of pageable memory are refused.
#include <memory>

#include "runtime.h"

using namespace emulation;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return with_device([&](Runtime& runtime, Held&) {
    CUstream_st* const queue = stream == nullptr ? nullptr : runtime.find(stream);
    if (queue == nullptr) return cudaErrorInvalidValue;
    if (queue->capture != nullptr) return cudaErrorIllegalState;
    queue->capture = std::make_unique<CUgraph_st>();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return with_device([&](Runtime& runtime, Held&) {
    const CUstream_st* const queue = runtime.find(stream);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    *status = queue->capture == nullptr ? cudaStreamCaptureStatusNone
              : queue->capture->broken  ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  return with_device([&](Runtime& runtime, Held&) {
    CUstream_st* const queue = runtime.find(stream);
    if (queue == nullptr || queue->capture == nullptr) return cudaErrorIllegalState;
    const std::unique_ptr<CUgraph_st> captured = std::move(queue->capture);
    if (captured->broken) return cudaErrorStreamCaptureInvalidated;
    *graph = new CUgraph_st{captured->works, false};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  return with_device([&](Runtime&, Held&) {
    *executable = nullptr;
    if (graph == nullptr) return cudaErrorInvalidValue;
    *executable = new CUgraphExec_st{graph->works};
    return cudaSuccess;
  });
}

// Only the number of works is compared.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return with_device([&](Runtime&, Held&) {
    if (executable == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    const bool same = executable->works.size() == graph->works.size();
    info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateError;
    if (!same) return cudaErrorGraphExecUpdateFailure;
    executable->works = graph->works;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (executable == nullptr) return cudaErrorInvalidValue;
    cudaError_t status = cudaSuccess;
    for (const Work& work : executable->works) {
      status = runtime.enqueue(held, stream, work);
      if (status != cudaSuccess) break;
    }
    return status;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::unique_ptr<CUgraph_st> owned(graph);
  return with_device([](Runtime&, Held&) { return cudaSuccess; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::unique_ptr<CUgraphExec_st> owned(executable);
  return with_device([](Runtime&, Held&) { return cudaSuccess; });
}

}  // extern "C"
