// CUDA's functions about graphs: work of one stream, recorded and queued again.
#include "runtime.h"

using namespace emulation;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return with_device([&](Runtime& runtime, Held&) { return runtime.begin_capture(stream); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return with_device([&](Runtime& runtime, Held&) { return runtime.end_capture(stream, graph); });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  return with_device([&](Runtime&, Held&) {
    *executable = new CUgraphExec_st{graph->works};
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    cudaError_t status = cudaSuccess;
    for (const Work& work : executable->works) {
      if (status == cudaSuccess) status = runtime.enqueue(held, stream, work);
    }
    return status;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

}  // extern "C"
