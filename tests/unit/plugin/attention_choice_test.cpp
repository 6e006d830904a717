// Which implementation makes an attention, and the scratch reserved for it.
#include "engine/kernels/cuda/attention_choice.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace ds::cuda {
namespace {

AttentionProblem some_problem() {
  return {.act = DType::bf16,
          .batch = 4,
          .heads = 12,
          .kv_heads = 12,
          .seq_len = 1024,
          .key_len = 1024,
          .head_size = 64,
          .scale = 0.125F};
}
const SdpaSupport kHopper{.cudnn_version = 92500, .missing = {}, .compute_major = 9};

bool by_cudnn(const AttentionProblem& p, const SdpaSupport& s = kHopper) {
  return choose_attention(p, s, AttentionWish::automatic).cudnn;
}

}  // namespace

TEST_CASE("attention: cuDNN where it can, and never for what it cannot or may not do") {
  CHECK(by_cudnn(some_problem()));
  using Change = std::function<void(AttentionProblem&)>;
  const auto with = [](const Change& change) {
    AttentionProblem p = some_problem();
    change(p);
    return by_cudnn(p);
  };
  const std::vector<Change> taken{
      [](auto& p) { p.act = DType::f16; },
      [](auto& p) { p.causal = false; },
      [](auto& p) { p.kv_heads = 3; },
      [](auto& p) { p.head_size = 128; },
      [](auto& p) { p.head_size = 8; },
      [](auto& p) { p.seq_len = p.key_len = 130; },
      [](auto& p) { p.seq_len = p.key_len = 2; },
      [](auto& p) { p.window = 100; },
      [](auto& p) { p.cross = true, p.causal = false, p.seq_len = 150; },
      [](auto& p) { p.cross = true, p.key_len = 1088; }};
  for (const Change& change : taken) CHECK(with(change));
  const std::vector<Change> refused{
      [](auto& p) { p.act = DType::f32; },
      [](auto& p) { p.bias = true; },
      [](auto& p) { p.dropout = true; },
      [](auto& p) { p.ranges = true; },
      [](auto& p) { p.window = 100, p.causal = false; },
      [](auto& p) { p.window = 100, p.key_len = 512; },
      [](auto& p) { p.key_len = 1; },
      [](auto& p) { p.key_len = 1000; },
      [](auto& p) { p.head_size = 136; },
      [](auto& p) { p.head_size = 12; },
      [](auto& p) { p.seq_len = p.key_len = 1; },
      [](auto& p) { p.causal = false, p.seq_len = p.key_len = 1088; }};
  for (const Change& change : refused) CHECK_FALSE(with(change));
}

TEST_CASE("attention: long sequences take the backward pass of linear scratch where there is one") {
  AttentionProblem p = some_problem();
  p.seq_len = p.key_len = 1 << 17;
  SdpaSupport support = kHopper;
  CHECK(by_cudnn(p, support));
  CHECK(sdpa_workspace_bytes(p, support) < std::int64_t{2} << 30);
  support.cudnn_version = 92400;
  CHECK_FALSE(by_cudnn(p, support));
  support = {.cudnn_version = 92500, .missing = {}, .compute_major = 8};
  CHECK_FALSE(by_cudnn(p, support));
  p.seq_len = p.key_len = 1024;
  CHECK(sdpa_workspace_bytes(p, support) == sdpa_workspace_bytes(p, kHopper));
}

TEST_CASE("attention: slower kernels are a warning with the reason, unless that is no news") {
  AttentionProblem p = some_problem();
  const auto warning = [&](AttentionWish wish) {
    return slower_attention(p, choose_attention(p, kHopper, wish), wish);
  };
  CHECK(warning(AttentionWish::automatic).empty());
  CHECK(warning(AttentionWish::own).empty());
  p.dropout = true;
  CHECK(warning(AttentionWish::automatic) ==
        "warning: attention uses the built-in kernels, which are slower: dropout");
  p.act = DType::f32;
  CHECK(warning(AttentionWish::automatic).empty());
}

TEST_CASE("attention: too old a cuDNN, another device, none at all") {
  const AttentionProblem even = some_problem();
  AttentionProblem odd = even;
  odd.seq_len = odd.key_len = 1000;
  const auto support = [](int version, int major) {
    return SdpaSupport{.cudnn_version = version, .missing = {}, .compute_major = major};
  };
  CHECK(by_cudnn(even, support(91002, 9)));
  CHECK_FALSE(by_cudnn(even, support(91001, 9)));
  CHECK_FALSE(by_cudnn(odd, support(91500, 9)));
  CHECK(by_cudnn(odd, support(91501, 8)));
  CHECK(by_cudnn(even, support(91800, 10)));
  CHECK_FALSE(by_cudnn(even, support(91701, 10)));
  CHECK_FALSE(by_cudnn(even, support(91900, 7)));
  CHECK_FALSE(by_cudnn(even, support(91900, 12)));
  AttentionProblem grouped = even;
  grouped.kv_heads = 3;
  CHECK(by_cudnn(grouped, support(91900, 8)));
  CHECK_FALSE(by_cudnn(grouped, support(91900, 10)));
  const SdpaSupport none{.cudnn_version = 0, .missing = "cuDNN was not found", .compute_major = 9};
  const AttentionChoice choice = choose_attention(even, none, AttentionWish::automatic);
  CHECK(choice == AttentionChoice{.cudnn = false, .reason = "cuDNN was not found"});
  CHECK(attention_implementation(choice, none) == "attention: own (cuDNN was not found)");
  CHECK(attention_implementation({.cudnn = true, .reason = {}}, kHopper) ==
        "attention: cudnn 9.25.0");
}

TEST_CASE("attention: a wish for the own kernels is kept; words that are no wish are refused") {
  CHECK_FALSE(choose_attention(some_problem(), kHopper, AttentionWish::own).cudnn);
  CHECK(attention_wish(nullptr) == AttentionWish::automatic);
  CHECK(attention_wish("") == AttentionWish::automatic);
  CHECK(attention_wish("auto") == AttentionWish::automatic);
  CHECK(attention_wish("own") == AttentionWish::own);
  CHECK(attention_wish("cudnn") == AttentionWish::cudnn);
  CHECK_THROWS_AS((void)attention_wish("flash"), Error);
}

TEST_CASE("attention: every part of a problem makes another graph") {
  using Change = std::function<void(AttentionProblem&)>;
  const std::vector<Change> changes{
      [](auto& p) { p.act = DType::f16; }, [](auto& p) { p.batch = 5; },
      [](auto& p) { p.heads = 24; },       [](auto& p) { p.kv_heads = 6; },
      [](auto& p) { p.seq_len = 1025; },   [](auto& p) { p.head_size = 72; },
      [](auto& p) { p.key_len = 1025; },   [](auto& p) { p.window = 7; },
      [](auto& p) { p.scale = 1; },        [](auto& p) { p.causal = false; },
      [](auto& p) { p.ranges = true; },    [](auto& p) { p.bias = true; },
      [](auto& p) { p.dropout = true; },   [](auto& p) { p.cross = true; }};
  for (const Change& change : changes) {
    AttentionProblem p = some_problem();
    CHECK(p == some_problem());
    change(p);
    CHECK(p != some_problem());
    CHECK(((p < some_problem()) != (some_problem() < p)));
  }
}

TEST_CASE("attention: problems are read off the ops") {
  std::vector<std::byte> memory(1);
  const auto tensor = [&](DType type, Shape shape) { return Tensor{memory.data(), type, shape}; };
  const Attention gpt2{.qkv = tensor(DType::bf16, {3, 4, 12, 1024, 64}),
                       .out = tensor(DType::bf16, {4 * 1024, 768}),
                       .lse = tensor(DType::f32, {4, 12, 1024})};
  CHECK(problem_of(gpt2) == some_problem());
  const AttentionBackward llama{.qkv = tensor(DType::f16, {1, 2, 32 + 2 * 8, 64, 128}),
                                .ranges = tensor(DType::i32, {2, 64, 2}),
                                .out = tensor(DType::f16, {2 * 64, 4096}),
                                .lse = tensor(DType::f32, {2, 32, 64}),
                                .dout = tensor(DType::f16, {2 * 64, 4096}),
                                .dqkv = tensor(DType::f16, {2 * 64, 48 * 128}),
                                .kv_heads = 8,
                                .window = 20,
                                .scale = 0.5F};
  const AttentionProblem want{.act = DType::f16,
                              .batch = 2,
                              .heads = 32,
                              .kv_heads = 8,
                              .seq_len = 64,
                              .key_len = 64,
                              .head_size = 128,
                              .window = 20,
                              .scale = 0.5F,
                              .ranges = true};
  CHECK(problem_of(llama) == want);
  const Attention cross{.qkv = tensor(DType::f16, {1, 2, 32, 64, 128}),
                        .kv = tensor(DType::f16, {1, 2, 2 * 8, 100, 128}),
                        .out = tensor(DType::f16, {2 * 64, 4096}),
                        .lse = tensor(DType::f32, {2, 32, 64}),
                        .kv_heads = 8,
                        .causal = false,
                        .scale = 0.5F};
  AttentionProblem other = want;
  other.key_len = 100;
  other.window = 0;
  other.cross = true;
  other.causal = other.ranges = false;
  CHECK(problem_of(cross) == other);
}

}  // namespace ds::cuda
