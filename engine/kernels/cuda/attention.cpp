// Attention on CUDA: checks shapes, chooses cuDNN or our own kernels, and launches.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/attention_args.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/sdpa.h"
#include "engine/tensor/philox.h"

namespace ds::cuda {
namespace {

constexpr std::int64_t kMostHeadSize = 256, kMostGrid = 65535;

/// State that attention keeps between calls: cuDNN, its graphs, what was used and refused.
class AttentionPart final : public Part {
 public:
  explicit AttentionPart(const DeviceFacts& facts)
      : wish_(attention_wish(std::getenv("DSLAUNCH_CUDA_ATTENTION"))) {
    support_.compute_major = facts.compute_major;
    if (wish_ == AttentionWish::own) return;
    try {
      // Set before the first graph; the user's value wins.
      setenv(kSdpaLimitVariable, std::to_string(kMostSdpaWorkspaceBytes).c_str(), 0);
      sdpa_ = make_sdpa(facts.compute_major * 10 + facts.compute_minor);
      support_.cudnn_version = sdpa_->version();
    } catch (const Error& error) {
      if (wish_ == AttentionWish::cudnn) throw;
      support_.missing = error.what();
    }
  }

  [[nodiscard]] std::vector<std::string> implementations() const override {
    return {used_.begin(), used_.end()};
  }
  [[nodiscard]] std::string arithmetic() const override {
    return sdpa_ ? fmt::format("cuDNN {}", support_.cudnn_version) : "own attention";
  }

  /// Returns cuDNN if it is chosen for the problem, its memory is aligned as cuDNN requires, and
  /// its scratch fits; else null.
  Sdpa* choose(const AttentionProblem& p, SdpaPass pass, bool aligned, std::size_t scratch_bytes) {
    AttentionChoice choice = choose_attention(p, support_, wish_);
    if (choice.cudnn && !aligned) choice = {.cudnn = false, .reason = "unaligned memory"};
    if (choice.cudnn) choice = confirm(p, pass, scratch_bytes);
    used_.insert(attention_implementation(choice, support_));
    const std::string warning = slower_attention(p, choice, wish_);
    if (!warning.empty() && told_.insert(warning).second) fmt::print(stderr, "{}\n", warning);
    return choice.cudnn ? sdpa_.get() : nullptr;
  }

 private:
  /// Builds the graph, which alone shows whether cuDNN has an engine and how much scratch it needs.
  AttentionChoice confirm(const AttentionProblem& p, SdpaPass pass, std::size_t scratch_bytes) {
    // cuDNN takes long to find that it has no engine, so it is asked once.
    const auto unbuilt = unbuilt_.find({pass, p});
    if (unbuilt != unbuilt_.end()) return {.cudnn = false, .reason = unbuilt->second};
    std::string reason;
    try {
      const auto wanted = static_cast<std::size_t>(sdpa_->workspace_bytes(pass, p));
      if (wanted <= scratch_bytes) return {.cudnn = true, .reason = {}};
      reason = fmt::format("cuDNN needs {} bytes of scratch, but {} are reserved", wanted,
                           scratch_bytes);
    } catch (const Error& error) {
      reason = error.what();
      if (wish_ == AttentionWish::automatic) unbuilt_[{pass, p}] = reason;
    }
    if (wish_ == AttentionWish::cudnn) {
      throw Error(ErrorKind::config, fmt::format("DSLAUNCH_CUDA_ATTENTION=cudnn: {}", reason),
                  "set it to auto or own");
    }
    return {.cudnn = false, .reason = reason};
  }

  AttentionWish wish_;
  SdpaSupport support_;
  std::unique_ptr<Sdpa> sdpa_;
  std::set<std::string> used_, told_;
  std::map<std::pair<SdpaPass, AttentionProblem>, std::string> unbuilt_;  // why not
};

AttentionPart& part_of(Context& c) { return static_cast<AttentionPart&>(*c.attention); }

template <class... Pointers>
bool aligned(const Pointers*... data) {
  return ((reinterpret_cast<std::uintptr_t>(data) % 16 == 0) && ...);
}

/// Returns the arguments of both passes, without `out`.
template <class Op>
AttentionArgs args_of(const Op& a, const AttentionProblem& p) {
  DS_ASSERT(p.head_size <= kMostHeadSize && p.batch <= kMostGrid && 2 * p.heads <= kMostGrid);
  AttentionArgs args;
  const auto head = [&](const ConstTensor& of, std::int64_t first) {
    return static_cast<const std::byte*>(of.data) + first * p.head_size * size_of(p.act);
  };
  const ConstTensor& keys = p.cross ? a.kv : a.qkv;
  const std::int64_t before = p.cross ? 0 : p.heads;  // heads in a row before those of keys
  args.q = a.qkv.data;
  args.k = head(keys, before);
  args.v = head(keys, before + p.kv_heads);
  args.q_width = p.query_heads() * p.head_size;
  args.kv_width = p.key_heads() * p.head_size;
  args.ranges = static_cast<const std::int32_t*>(a.ranges.data);
  args.bias = static_cast<const float*>(a.bias.data);
  args.batch = static_cast<std::int32_t>(p.batch);
  args.heads = static_cast<std::int32_t>(p.heads);
  args.kv_heads = static_cast<std::int32_t>(p.kv_heads);
  args.seq_len = static_cast<std::int32_t>(p.seq_len);
  args.key_len = static_cast<std::int32_t>(p.key_len);
  args.head_size = static_cast<std::int32_t>(p.head_size);
  args.window = static_cast<std::int32_t>(std::min(p.window, p.seq_len));
  args.causal = p.causal;
  args.vectors = p.head_size * size_of(p.act) % 16 == 0 && aligned(a.qkv.data, a.kv.data);
  args.scale = p.scale;
  if (p.dropout) {
    const DropoutDraw& draw = a.dropout;
    DS_ASSERT(draw.rate > 0 && draw.rate <= 1);
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto words = philox({low(draw.key), high(draw.key), low(draw.step), high(draw.step)},
                              {low(draw.seed), high(draw.seed)});
    args.samples = static_cast<const std::int64_t*>(draw.samples.data);
    args.dropout_key[0] = words[0];
    args.dropout_key[1] = words[1];
    args.dropout_threshold = draw.rate * 0x1p24F;
    args.dropout_scale = 1.0F / (1.0F - draw.rate);
  }
  return args;
}

/// Scratch of our own backward pass.
struct OwnScratch {
  float *delta, *bias_parts;
  OwnScratch(Scratch& scratch, const AttentionProblem& p, bool bias) {
    delta = scratch.take<float>(p.batch * p.heads * p.seq_len);
    bias_parts = scratch.take<float>(
        bias ? attention_bias_parts(act_of(p.act), p.batch, p.heads, p.seq_len, p.key_len,
                                    static_cast<std::int32_t>(p.head_size))
             : 0);
  }
};

}  // namespace

template <>
void run(Context& c, const Attention& a, cudaStream_t stream) {
  const AttentionProblem p = problem_of(a);
  AttentionArgs args = args_of(a, p);
  args.out = a.out.data;
  args.lse = static_cast<float*>(a.lse.data);
  const bool all_aligned = aligned(a.qkv.data, a.kv.data, a.out.data);
  if (Sdpa* sdpa = part_of(c).choose(p, SdpaPass::forward, all_aligned, c.workspace_bytes)) {
    sdpa->run(SdpaPass::forward, p, {.forward = args}, c.workspace, stream);
  } else {
    check(launch_attention(act_of(p.act), args, stream), "attention");
  }
}

template <>
void run(Context& c, const AttentionBackward& a, cudaStream_t stream) {
  const AttentionProblem p = problem_of(a);
  const auto head = [&](const Tensor& of, std::int64_t first) {
    return static_cast<std::byte*>(of.data) + first * p.head_size * size_of(p.act);
  };
  const Tensor& keys = p.cross ? a.dkv : a.dqkv;
  const std::int64_t before = p.cross ? 0 : p.heads;
  AttentionBackwardArgs args;
  args.forward = args_of(a, p);
  // The op declares out and lse as read-only.
  args.forward.out = const_cast<void*>(a.out.data);
  args.forward.lse = static_cast<float*>(const_cast<void*>(a.lse.data));
  args.forward.vectors = args.forward.vectors && aligned(a.dout.data);
  args.dout = a.dout.data;
  args.dq = a.dqkv.data;
  args.dk = head(keys, before);
  args.dv = head(keys, before + p.kv_heads);
  args.dbias = static_cast<float*>(a.dbias.data);
  const bool all_aligned =
      aligned(a.qkv.data, a.kv.data, a.out.data, a.dout.data, a.dqkv.data, a.dkv.data);
  if (Sdpa* sdpa = part_of(c).choose(p, SdpaPass::backward, all_aligned, c.workspace_bytes)) {
    sdpa->run(SdpaPass::backward, p, args, c.workspace, stream);
    return;
  }
  Scratch own = c.scratch();
  const OwnScratch pieces(own, p, static_cast<bool>(a.dbias));
  args.delta = pieces.delta;
  args.dbias_parts = pieces.bias_parts;
  const Act act = act_of(p.act);
  check(launch_attention_delta(act, args, stream), "attention's gradient: delta");
  check(launch_attention_backward_keys(act, args, stream), "attention's gradient: keys");
  check(launch_attention_backward_queries(act, args, stream), "attention's gradient: queries");
}

std::unique_ptr<Part> make_attention(const Context& c) {
  return std::make_unique<AttentionPart>(c.facts);
}

std::size_t attention_scratch_bytes(const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  AttentionProblem p;
  p.act = e.act;
  p.batch = e.micro;
  p.heads = e.heads;
  p.kv_heads = e.kv_heads == 0 ? e.heads : e.kv_heads;
  p.seq_len = e.seq_len;
  p.key_len = std::max(e.seq_len, e.key_len);
  p.head_size = e.head_size == 0 ? e.width / e.heads : e.head_size;
  Scratch own;
  const OwnScratch pieces(own, p, true);
  std::size_t most = own.used();
  if (!sdpa_is_built()) return most;
  // Reserves cuDNN's scratch wherever cuDNN may be chosen: the target's cuDNN is not known here.
  const AttentionWish wish = attention_wish(std::getenv("DSLAUNCH_CUDA_ATTENTION"));
  const SdpaSupport any{.cudnn_version = 99999, .missing = {}, .compute_major = 9};
  if (choose_attention(p, any, wish).cudnn) {
    most = std::max(most, static_cast<std::size_t>(sdpa_workspace_bytes(p, any)));
  }
  return most;
}

}  // namespace ds::cuda
