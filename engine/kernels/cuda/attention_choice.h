// Which implementation makes an attention: cuDNN's fused one, or the own kernels. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/kernels.h"

namespace ds::cuda {

/// All that an implementation may depend on; also what cuDNN's graphs are kept by.
struct AttentionProblem {
  DType act = DType::f32;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, seq_len = 0, head_size = 0;
  float scale = 0;
  bool causal = true, lengths = false, bias = false, dropout = false;

  friend auto operator<=>(const AttentionProblem&, const AttentionProblem&) = default;
};
/// Shapes that do not fit each other are bugs (DS_ASSERT).
AttentionProblem problem_of(const Attention& a);
AttentionProblem problem_of(const AttentionBackward& a);

/// What there is to choose from.
struct SdpaSupport {
  int cudnn_version = 0;  // as cudnnGetVersion() counts; 0: there is none
  std::string missing;    // why there is none
  int compute_major = 0;
};

enum class AttentionWish : std::uint8_t { automatic, own, cudnn };
/// Of $DSLAUNCH_CUDA_ATTENTION: auto (or empty), own, cudnn. Errors: Error{config}: another word.
AttentionWish attention_wish(const char* text);

struct AttentionChoice {
  bool cudnn = false;
  std::string reason;  // why the own kernels

  friend bool operator==(const AttentionChoice&, const AttentionChoice&) = default;
};
/// Both passes of an attention are made by the same one.
AttentionChoice choose_attention(const AttentionProblem& p, const SdpaSupport& support,
                                 AttentionWish wish);

/// Scratch that cuDNN's deterministic backward pass takes at most: the gradients of all
/// probabilities, delta, and dk and dv of every query head where heads share keys. (Measured for
/// cuDNN 9.19 on compute capabilities 8.0 and 9.0 by tests/unit/plugin/sdpa_plans_test.cpp.)
std::int64_t sdpa_workspace_bytes(const AttentionProblem& p);
/// Beyond it the own kernels, whose scratch grows with T alone, are taken.
inline constexpr std::int64_t kMostSdpaWorkspaceBytes = std::int64_t{8} << 30;

/// For people and for what a run notes of its arithmetic: "cudnn 9.19.0" or "own (bias)".
std::string attention_implementation(const AttentionChoice& choice, const SdpaSupport& support);

}  // namespace ds::cuda
