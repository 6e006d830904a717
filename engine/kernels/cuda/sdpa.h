// Sdpa: cuDNN's fused attention, with graphs by shape that are built at first use and kept.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "engine/kernels/cuda/attention_choice.h"

namespace ds::cuda {

/// Memory of one call; members of the other pass may be null. Shapes: as AttentionArgs. `lengths`
/// (B) counts keys; `all` (B) holds T, the count of queries. Both are only for problems with
/// lengths.
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
  /// Returns the scratch of the pass. Builds its graph at the first call. Errors: Error{system}
  /// with cuDNN's reason if it has no implementation of the problem.
  virtual std::int64_t workspace_bytes(SdpaPass pass, const AttentionProblem& p) = 0;
  /// Returns cuDNN's name of the implementation.
  virtual std::string name(SdpaPass pass, const AttentionProblem& p) = 0;
  /// Order: returns after launching on `stream`. Errors: Error{system}.
  virtual void run(SdpaPass pass, const AttentionProblem& p, const SdpaMemory& memory,
                   void* workspace, cudaStream_t stream) = 0;
};

/// Returns whether this build contains cuDNN's attention.
bool sdpa_is_built();

/// Creates graphs for the current device, with a compute capability such as 90; or, without a
/// device, for the device that cuDNN's JSON describes. Errors: Error{config}: cuDNN is missing or
/// too old, or this build lacks it.
std::unique_ptr<Sdpa> make_sdpa(int compute_capability, const std::string& device_json = {});

}  // namespace ds::cuda
