// Sdpa: cuDNN's fused attention, with graphs by shape that are built at first use and kept.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "engine/kernels/cuda/attention_args.h"
#include "engine/kernels/cuda/attention_choice.h"

namespace ds::cuda {

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
  /// Order: returns after launching on `stream`. Of `memory` it reads the pointers to tensors,
  /// those of gradients only in the backward pass. Errors: Error{system}.
  virtual void run(SdpaPass pass, const AttentionProblem& p, const AttentionBackwardArgs& memory,
                   void* workspace, cudaStream_t stream) = 0;
};

/// Returns whether this build contains cuDNN's attention.
bool sdpa_is_built();

/// Creates graphs for the current device, with a compute capability such as 90; or, without a
/// device, for the device that cuDNN's JSON describes. Errors: Error{config}: cuDNN is missing or
/// too old, or this build lacks it.
std::unique_ptr<Sdpa> make_sdpa(int compute_capability, const std::string& device_json = {});

}  // namespace ds::cuda
