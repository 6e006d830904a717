// CudaBench: runs ops of the CUDA backend under emulation without the rest of the plugin. Tensors
// are copied to the emulated device, whose memory has guards, and back.
#pragma once

#include <cuda_emulation.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>

#include "conformance/harness.h"
#include "conformance/op_tensors.h"
#include "engine/kernels/cuda/ops.h"

namespace ds::conformance {

struct CudaOptions {
  int multiprocessors = 3;
  std::uint64_t seed = 1;  // seed of every order that the emulation chooses
  std::int64_t shift = 0;  // elements by which each tensor is shifted from 16 bytes
};

class CudaBench {
 public:
  explicit CudaBench(const Kernels::Extents& e, const CudaOptions& options = {})
      : CudaBench(std::max(cuda::embed_scratch_bytes(e), cuda::norm_scratch_bytes(e)), options) {}
  explicit CudaBench(std::size_t workspace_bytes, const CudaOptions& options = {})
      : options_(options) {
    emulation::Knobs knobs = emulation::knobs();
    knobs.seed = options.seed;
    emulation::set_knobs(knobs);
    context_.facts.multiprocessors = options.multiprocessors;
    context_.workspace_bytes = workspace_bytes;
    context_.workspace = static_cast<std::byte*>(allocate(workspace_bytes));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess);
  }
  CudaBench(const CudaBench&) = delete;
  CudaBench& operator=(const CudaBench&) = delete;
  ~CudaBench() {
    CHECK(cudaFree(context_.workspace) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream_) == cudaSuccess);
  }

  /// Returns the context, for what an op needs beside the workspace.
  cuda::Context& context() { return context_; }

  template <class Op>
  void run(Op op) {
    for_each_tensor(op, [&](auto& tensor, auto...) { move(tensor); });
    try {
      cuda::run(context_, op, stream_);
    } catch (const Error& error) {
      if (emulation::fault().empty()) throw;
      const std::string why = error.what() + ("; " + emulation::fault());
      FAIL(why);
    }
    CHECK(cudaStreamSynchronize(stream_) == cudaSuccess);
    CHECK(emulation::fault() == "");
    for (auto& [host, piece] : pieces_) {
      if (piece.result) std::memcpy(piece.host, piece.data, piece.bytes);
      CHECK(cudaFree(piece.memory) == cudaSuccess);
    }
    pieces_.clear();
  }

 private:
  struct Piece {
    void* host = nullptr;  // for results
    std::byte *memory = nullptr, *data = nullptr;
    std::size_t bytes = 0;
    bool result = false;
  };

  static void* allocate(std::size_t bytes) {
    void* data = nullptr;
    REQUIRE(cudaMalloc(&data, bytes) == cudaSuccess);
    return data;
  }
  template <class AnyTensor>
  Piece& piece_of(const AnyTensor& tensor) {
    Piece& piece = pieces_[tensor.data];
    if (piece.memory != nullptr) return piece;
    const std::int64_t shift =
        tensor.dtype == DType::f64 || tensor.dtype == DType::i64 || tensor.dtype == DType::i32
            ? 0
            : options_.shift * size_of(tensor.dtype);
    piece.bytes = static_cast<std::size_t>(tensor.bytes());
    piece.memory = static_cast<std::byte*>(allocate(piece.bytes + static_cast<std::size_t>(shift)));
    piece.data = piece.memory + shift;
    std::memcpy(piece.data, tensor.data, piece.bytes);
    return piece;
  }
  void move(ConstTensor& tensor) {
    if (tensor) tensor.data = piece_of(tensor).data;
  }
  void move(Tensor& tensor) {
    if (!tensor) return;
    Piece& piece = piece_of(tensor);
    piece.host = tensor.data;
    piece.result = true;
    tensor.data = piece.data;
  }

  CudaOptions options_;
  cuda::Context context_;
  cudaStream_t stream_ = nullptr;
  std::map<const void*, Piece> pieces_;
};

}  // namespace ds::conformance
