// What every operation of the CUDA backend works with.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/kernels.h"
#include "engine/kernels/workspace.h"

namespace ds::cuda {

/// The device's properties that grids and tiles are sized from. They never change a bit of a
/// result.
struct DeviceFacts {
  int device = 0;
  int multiprocessors = 1;
  int compute_major = 8, compute_minor = 0;
  int max_shared_bytes = 48 << 10;  // of one block, with opt-in
};

/// What a family of operations keeps between calls: handles, tables of functions, chosen
/// algorithms. Only that family knows its type.
class Part {
 public:
  virtual ~Part() = default;
  /// The names of what was made so far.
  [[nodiscard]] virtual std::vector<std::string> implementations() const { return {}; }
  /// Its library and version, and what was asked of it.
  [[nodiscard]] virtual std::string arithmetic() const { return {}; }
};

struct Context {
  DeviceFacts facts;
  std::string cache_dir;  // of chosen algorithms; empty: none is kept
  bool fused_epilogues = false;
  std::byte* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::unique_ptr<Part> products{}, attention{};

  [[nodiscard]] Scratch scratch() const { return {workspace, workspace_bytes}; }
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What launchers of own kernels need.
inline Launch launch_on(const Context& c, cudaStream_t stream) {
  return {.stream = stream, .multiprocessors = c.facts.multiprocessors};
}

/// The act type of a tensor. Another one is a bug.
inline Act act_of(DType type) {
  DS_ASSERT(type == DType::f32 || type == DType::bf16 || type == DType::f16);
  return type == DType::f32 ? Act::f32 : type == DType::bf16 ? Act::bf16 : Act::f16;
}

}  // namespace ds::cuda
