// Rules that choose cuDNN or our own kernels for an attention.
#include "engine/kernels/cuda/attention_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "engine/base/error.h"

namespace ds::cuda {
namespace {

// cuDNN 9.10.0 and 9.10.1 give wrong results (cudnn-frontend refuses them). Up to 9.15.0, a T that
// is not a multiple of 128 needs copies from the host in every call. The deterministic backward
// pass for Blackwell exists from 9.18 on.
constexpr int kLeastCudnn = 91002, kCudnnOfAnyLength = 91501, kCudnnOfBlackwell = 91800,
              kCudnnOfLinearScratch = 92500;

int least_cudnn(const AttentionProblem& p, int compute_major) {
  const bool whole = p.seq_len % 128 == 0 && p.key_len % 128 == 0;
  return std::max(
      {kLeastCudnn, whole ? 0 : kCudnnOfAnyLength, compute_major == 10 ? kCudnnOfBlackwell : 0});
}

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// Returns why cuDNN cannot compute the problem, or an empty string.
std::string obstacle(const AttentionProblem& p, const SdpaSupport& s) {
  if (s.cudnn_version == 0) return s.missing.empty() ? "no cuDNN" : s.missing;
  if (p.act == DType::f32) return "f32";
  if (p.bias) return "bias";
  if (p.dropout) return "dropout";
  if (p.ranges) return "documents";  // cuDNN has no ranges of keys by query
  // cudnn-frontend takes windows with at least as many keys as queries.
  if (p.window > 0 && (!p.causal || p.seq_len > p.key_len)) return "a window of other keys";
  if (p.head_size > 128 || p.head_size % 8 != 0) {
    return fmt::format("heads of {} elements", p.head_size);
  }
  if (p.seq_len < 2 || p.key_len < 2) return "one position";
  if (s.compute_major < 8 || s.compute_major > 10) {
    return fmt::format("compute capability {}", s.compute_major);
  }
  if (s.compute_major == 10 && p.heads != p.kv_heads) {  // pytorch/pytorch issue 193893
    return "grouped heads on compute capability 10";
  }
  // If no mask hides the keys beyond the last whole tile, they can make dq NaN when all scores of a
  // query are far below zero (pytorch/pytorch issue 196678).
  if ((!p.causal || p.seq_len > p.key_len) && p.key_len % 128 != 0) {
    return fmt::format("{} keys without a mask", p.key_len);
  }
  const int least = least_cudnn(p, s.compute_major);
  if (s.cudnn_version < least) {
    return fmt::format("cuDNN {}, but {} is needed", version_text(s.cudnn_version),
                       version_text(least));
  }
  if (sdpa_workspace_bytes(p, s) > kMostSdpaWorkspaceBytes) return "too much scratch for cuDNN";
  return {};
}

template <class Op>
AttentionProblem shapes_of(const Op& a, const ConstTensor& out) {
  const Shape& qkv = a.qkv.shape;
  DS_ASSERT(qkv.axes() == 5 && (qkv[0] == 3 || qkv[0] == 1));
  AttentionProblem p;
  p.act = a.qkv.dtype;
  p.batch = qkv[1];
  p.seq_len = p.key_len = qkv[3];
  p.head_size = qkv[4];
  p.cross = static_cast<bool>(a.kv);
  p.heads = qkv[0] == 3 || p.cross ? qkv[2] : qkv[2] - 2 * a.kv_heads;
  p.kv_heads = a.kv_heads == 0 ? p.heads : a.kv_heads;
  if (p.cross) {
    p.key_len = a.kv.shape[3];
    DS_ASSERT(qkv[0] == 1 && a.kv.dtype == p.act);
    DS_ASSERT((a.kv.shape == Shape{1, p.batch, 2 * p.kv_heads, p.key_len, p.head_size}));
  } else {
    DS_ASSERT(qkv[0] == 1 ? a.kv_heads > 0 : p.kv_heads == p.heads);
  }
  DS_ASSERT(p.kv_heads > 0 && p.heads > 0 && p.heads % p.kv_heads == 0);
  DS_ASSERT(p.head_size > 0 && p.seq_len > 0 && p.key_len > 0 && p.batch > 0);
  DS_ASSERT(out.dtype == p.act && out.elements() == p.batch * p.seq_len * p.heads * p.head_size);
  DS_ASSERT(a.lse.dtype == DType::f32 && a.lse.elements() == p.batch * p.heads * p.seq_len);
  p.causal = a.causal;
  DS_ASSERT(a.window >= 0);
  p.window = a.window;
  p.ranges = static_cast<bool>(a.ranges);
  p.bias = static_cast<bool>(a.bias);
  p.dropout = a.dropout.rate != 0;
  p.scale = a.scale != 0 ? a.scale : 1.0F / __builtin_sqrtf(static_cast<float>(p.head_size));
  DS_ASSERT(!p.ranges ||
            (a.ranges.dtype == DType::i32 && a.ranges.elements() == 2 * p.batch * p.seq_len));
  DS_ASSERT(!p.bias || (a.bias.dtype == DType::f32 &&
                        a.bias.elements() == p.heads * (p.seq_len + p.key_len - 1)));
  DS_ASSERT(!p.dropout ||
            (a.dropout.samples.dtype == DType::i64 && a.dropout.samples.elements() == p.batch));
  return p;
}

constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; }

}  // namespace

AttentionProblem problem_of(const Attention& a) { return shapes_of(a, a.out); }

AttentionProblem problem_of(const AttentionBackward& a) {
  const AttentionProblem p = shapes_of(a, a.out);
  DS_ASSERT(a.dout.dtype == p.act && a.dout.elements() == a.out.elements());
  DS_ASSERT(a.dqkv.dtype == p.act && a.dqkv.elements() == a.qkv.elements());
  DS_ASSERT(p.cross == static_cast<bool>(a.dkv));
  DS_ASSERT(!p.cross || (a.dkv.dtype == p.act && a.dkv.elements() == a.kv.elements()));
  DS_ASSERT(!a.dbias ||
            (p.bias && a.dbias.dtype == DType::f32 && a.dbias.elements() == a.bias.elements()));
  return p;
}

AttentionWish attention_wish(const char* text) {
  const std::string_view word = text == nullptr ? "" : text;
  if (word.empty() || word == "auto") return AttentionWish::automatic;
  if (word == "own") return AttentionWish::own;
  if (word == "cudnn") return AttentionWish::cudnn;
  throw Error(ErrorKind::config, fmt::format("DSLAUNCH_CUDA_ATTENTION is '{}'", word),
              "use auto, own or cudnn");
}

AttentionChoice choose_attention(const AttentionProblem& p, const SdpaSupport& support,
                                 AttentionWish wish) {
  if (wish == AttentionWish::own) return {.cudnn = false, .reason = "as wished"};
  std::string reason = obstacle(p, support);
  const bool cudnn = reason.empty();
  return {.cudnn = cudnn, .reason = std::move(reason)};
}

std::string slower_attention(const AttentionProblem& p, const AttentionChoice& choice,
                             AttentionWish wish) {
  if (choice.cudnn || wish == AttentionWish::own || p.act == DType::f32) return {};
  const std::string reason = choice.reason.substr(0, choice.reason.find('\n'));
  return fmt::format("warning: attention uses the built-in kernels, which are slower: {}", reason);
}

std::int64_t sdpa_workspace_bytes(const AttentionProblem& p, const SdpaSupport& support) {
  std::int64_t probabilities = 2 * round_up(p.seq_len, 64) * round_up(p.key_len, 128);
  const bool is_large = p.batch * p.heads * probabilities > kMostSdpaWorkspaceBytes;
  if (is_large && support.cudnn_version >= kCudnnOfLinearScratch && support.compute_major == 9)
    probabilities = 4 * p.head_size * round_up(p.seq_len, 64);  // dq instead
  const std::int64_t shared = p.heads == p.kv_heads ? 0 : 4 * p.head_size * p.key_len;
  constexpr std::int64_t kSlack = 1 << 20;
  return p.batch * p.heads * (probabilities + shared + 4 * p.seq_len) + kSlack;
}

std::string attention_implementation(const AttentionChoice& choice, const SdpaSupport& support) {
  return choice.cudnn ? fmt::format("attention: cudnn {}", version_text(support.cudnn_version))
                      : fmt::format("attention: own ({})", choice.reason);
}

}  // namespace ds::cuda
