// Chooses the implementation of an attention: cuDNN's fused one or our own kernels. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/kernels.h"

namespace ds::cuda {

/// Everything that an implementation may depend on; also the key of cuDNN's graphs.
struct AttentionProblem {
  DType act = DType::f32;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, seq_len = 0, key_len = 0, head_size = 0;
  std::int64_t window = 0;
  float scale = 0;
  bool cross = false;  // keys and values are another tensor's
  bool causal = true, ranges = false, bias = false, dropout = false;

  /// Return the heads in a row of the queries' tensor and of the keys'.
  [[nodiscard]] std::int64_t query_heads() const { return cross ? heads : heads + 2 * kv_heads; }
  [[nodiscard]] std::int64_t key_heads() const {
    return cross ? 2 * kv_heads : heads + 2 * kv_heads;
  }

  friend auto operator<=>(const AttentionProblem&, const AttentionProblem&) = default;
};
/// Returns the problem of an op. Shapes that do not fit each other are bugs (DS_ASSERT).
AttentionProblem problem_of(const Attention& a);
AttentionProblem problem_of(const AttentionBackward& a);

/// What cuDNN and the device offer.
struct SdpaSupport {
  int cudnn_version = 0;  // as cudnnGetVersion() counts; 0: no cuDNN
  std::string missing;    // why there is no cuDNN
  int compute_major = 0;
};

enum class AttentionWish : std::uint8_t { automatic, own, cudnn };
/// Parses $DSLAUNCH_CUDA_ATTENTION: auto (or empty), own, cudnn. Errors: Error{config}: other text.
AttentionWish attention_wish(const char* text);

struct AttentionChoice {
  bool cudnn = false;
  std::string reason;  // why our own kernels were chosen

  friend bool operator==(const AttentionChoice&, const AttentionChoice&) = default;
};
/// Returns the implementation of both passes of an attention.
AttentionChoice choose_attention(const AttentionProblem& p, const SdpaSupport& support,
                                 AttentionWish wish);

/// Returns the warning about a choice of our own kernels for an attention that cuDNN computes in
/// other cases; empty if there is nothing to say (f32, or chosen by the user).
std::string slower_attention(const AttentionProblem& p, const AttentionChoice& choice,
                             AttentionWish wish);

/// Returns an upper bound on the scratch of cuDNN's deterministic backward pass: the gradients of
/// all probabilities, delta, and dk and dv of every query head where heads share keys. From cuDNN
/// 9.25 on, Hopper has a slower pass that adds up dq in order, in f32; it replaces the gradients of
/// all probabilities where those exceed the limit below. (Measured for cuDNN 9.19 and 9.28 on
/// compute capabilities 8.0 and 9.0 by tests/cuda_emulation/sdpa/sdpa_plans_test.cpp.)
std::int64_t sdpa_workspace_bytes(const AttentionProblem& p, const SdpaSupport& support);
/// The frontend's variable by which it takes the pass with linear scratch above a limit in bytes.
inline constexpr const char* kSdpaLimitVariable = "CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT";
/// Above this limit our own kernels are chosen, whose scratch grows only with T.
inline constexpr std::int64_t kMostSdpaWorkspaceBytes = std::int64_t{8} << 30;

/// Returns the name for people and for a run's arithmetic record: "cudnn 9.19.0" or "own (bias)".
std::string attention_implementation(const AttentionChoice& choice, const SdpaSupport& support);

}  // namespace ds::cuda
