// cuDNN's fused attention: graphs by shape, built at the first use and kept.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "engine/kernels/cuda/attention_choice.h"

namespace ds::cuda {

/// Memory of one call; those of the other pass may be null. Shapes: as AttentionArgs. `lengths`
/// (B) counts keys; `all` (B) holds T, the count of queries (both: only of problems with lengths).
struct SdpaMemory {
  const void* qkv = nullptr;
  void* out = nullptr;
  float* lse = nullptr;
  const std::int32_t *lengths = nullptr, *all = nullptr;
  const void* dout = nullptr;
  void* dqkv = nullptr;
};

enum class SdpaPass : std::uint8_t { forward, backward };

class Sdpa {
 public:
  virtual ~Sdpa() = default;
  [[nodiscard]] virtual int version() const = 0;  // as cudnnGetVersion() counts
  /// Scratch that the pass takes. Builds its graph at the first call. Errors: Error{system} with
  /// cuDNN's reason: it has no implementation of the problem.
  virtual std::int64_t workspace_bytes(SdpaPass pass, const AttentionProblem& p) = 0;
  /// cuDNN's name of what runs.
  virtual std::string name(SdpaPass pass, const AttentionProblem& p) = 0;
  /// Order: launched on `stream` when it returns. Errors: Error{system}.
  virtual void run(SdpaPass pass, const AttentionProblem& p, const SdpaMemory& memory,
                   void* workspace, cudaStream_t stream) = 0;
};

/// Whether this build holds it.
bool sdpa_is_built();

/// Graphs for the current device, of compute capability 90 and the like; or, where there is none,
/// for the device that cuDNN's JSON describes. Errors: Error{config}: cuDNN is missing, too old, or
/// this build is without it.
std::unique_ptr<Sdpa> make_sdpa(int compute_capability, const std::string& device_json = {});

}  // namespace ds::cuda
