// Context: device facts, workspace and library state that every CUDA operation uses.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/kernels.h"
#include "engine/kernels/workspace.h"

namespace ds::cuda {

/// Device properties that size grids and tiles. They never change a bit of a result.
struct DeviceFacts {
  int device = 0;
  int multiprocessors = 1;
  int compute_major = 8, compute_minor = 0;
  int max_shared_bytes = 48 << 10;  // per block, with opt-in
};

/// State that a family of operations keeps between calls: handles, tables of functions, chosen
/// algorithms. Only that family knows the derived type.
class Part {
 public:
  virtual ~Part() = default;
  /// Returns the names of the implementations made so far.
  [[nodiscard]] virtual std::vector<std::string> implementations() const { return {}; }
  /// Describes the library, its version, and the options that decide bits.
  [[nodiscard]] virtual std::string arithmetic() const { return {}; }
};

struct Context {
  DeviceFacts facts;
  std::string cache_dir;  // for chosen algorithms; empty: none are stored
  bool fused_epilogues = false;
  std::byte* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::unique_ptr<Part> products{}, attention{};

  [[nodiscard]] Scratch scratch() const { return {workspace, workspace_bytes}; }
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Returns the arguments that launchers of our own kernels need.
inline Launch launch_on(const Context& c, cudaStream_t stream) {
  return {.stream = stream, .multiprocessors = c.facts.multiprocessors};
}

/// Returns the act type of a tensor. Any other type is a bug.
inline Act act_of(DType type) {
  DS_ASSERT(type == DType::f32 || type == DType::bf16 || type == DType::f16);
  return type == DType::f32 ? Act::f32 : type == DType::bf16 ? Act::bf16 : Act::f16;
}

}  // namespace ds::cuda
