// Tests of traffic and work of real programs against closed formulas.
#include "engine/plan/traffic.h"

#include <doctest/doctest.h>

#include "engine/models/build_model.h"
#include "engine/plan/work.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// Elements of all groups, including padding: psi in the formulas.
std::int64_t elements_of(const Program& program) {
  std::int64_t sum = 0;
  for (const ParamGroup& group : program.groups) sum += group.elements;
  return sum;
}

/// The tiny model, padded for equal slices.
Program padded_forward(int world, DType act = DType::f32) {
  return pad_groups(tiny_forward(act), {.world_size = world});
}

/// Bytes of one rank's slices of all groups, f32.
std::int64_t own_bytes(const Program& program, int rank, int world) {
  std::int64_t sum = 0;
  for (const ParamGroup& group : program.groups) {
    const std::int64_t leaves = group.elements / kLeaf;
    sum += (leaves * (rank + 1) / world - leaves * rank / world) * kLeaf * 4;
  }
  return sum;
}

Traffic traffic(const ShardSpec& spec, int slots) {
  return traffic_of(shard(differentiate(tiny_forward()), spec), spec, slots);
}

}  // namespace

TEST_CASE("stage 0 at the boundary: each rank sends and receives 2 psi (N - 1) / N") {
  for (const int world : {2, 3, 4}) {
    const std::int64_t psi = 4 * elements_of(padded_forward(world));
    std::int64_t sent = 0, received = 0;
    for (int rank = 0; rank < world; ++rank) {
      const ShardSpec spec = spec_of(rank, world, world, 3, ShardSpec::Order::boundary);
      const Traffic moved = traffic(spec, world);
      const std::int64_t own = own_bytes(padded_forward(world), rank, world);
      // The exchange sends all but the own slice; the gather sends the own slice to all.
      CHECK(moved.sent() == psi - own + own * (world - 1));
      CHECK(moved.received() == own * (world - 1) + psi - own);
      CHECK(moved.sent_to_nodes == 0);
      sent += moved.sent();
      received += moved.received();
    }
    CHECK(sent == 2 * psi * (world - 1));  // N ranks times 2 psi (N - 1) / N
    CHECK(received == sent);
  }
}

TEST_CASE("the order step exchanges in every micro-step: (g + 1) psi (N - 1) / N") {
  constexpr int kWorld = 4;
  for (const int accum : {1, 3}) {
    const std::int64_t psi = 4 * elements_of(padded_forward(kWorld));
    std::int64_t sent = 0;
    for (int rank = 0; rank < kWorld; ++rank)
      sent += traffic(spec_of(rank, kWorld, kWorld, accum, ShardSpec::Order::step), 4).sent();
    CHECK(sent == (accum + 1) * psi * (kWorld - 1));
  }
}

TEST_CASE("one rank sends nothing") {
  const Traffic moved = traffic(spec_of(0, 1, 2, 2, ShardSpec::Order::boundary), 1);
  CHECK(moved.sent() == 0);
  CHECK(moved.received() == 0);
}

TEST_CASE("bytes that stay on a node are counted separately") {
  const ShardSpec spec = spec_of(1, 4, 4, 1, ShardSpec::Order::boundary);
  const Traffic together = traffic(spec, 4), two = traffic(spec, 2), apart = traffic(spec, 1);
  CHECK(together.sent_to_nodes == 0);
  CHECK(apart.sent_in_node == 0);
  CHECK(two.sent_in_node > 0);
  // Two of the three other ranks are on the other node.
  CHECK(two.sent_to_nodes > two.sent_in_node);
  CHECK(two.sent() == together.sent());
  CHECK(two.received() == apart.received());
}

TEST_CASE("the optimizer reads the gradient and states and writes states") {
  const Program forward = tiny_forward();
  // f32: reads gradient, weights, two moments; writes weights and two moments.
  CHECK(traffic(spec_of(0, 1, 1, 1, ShardSpec::Order::boundary), 1).optimizer_device ==
        7 * 4 * elements_of(forward));
}

TEST_CASE("a step's matrix products agree with the convention") {
  const double tokens = 2 * 4;
  // 6 for each weight of a matrix product, and 6 L H D T for the half of attention
  const auto of_token = [](double weights) { return 6 * weights + 6.0 * 2 * 16 * 4; };
  const double weights = 2 * (4.0 * 16 * 16 + 2.0 * 16 * 64) + 64.0 * 16;
  const Program once = differentiate(tiny_forward());
  CHECK(flops_of(once) == doctest::Approx(tokens * of_token(weights)));
  const Program step = shard(once, spec_of(0, 2, 4, 3, ShardSpec::Order::boundary));
  CHECK(flops_of(step) == doctest::Approx(6 * tokens * of_token(weights)));
  CHECK(flops_of(recompute(once, Recompute::block)) > 1.05 * flops_of(once));
  ModelConfig llama = tiny_config();
  llama.arch = "llama";
  llama.kv_heads = 1;
  llama.ffn = 24;
  llama.tied = false;
  const Program other =
      differentiate(build_model(llama, {.micro = 2, .seq_len = 4, .valid_vocab = 60}));
  CHECK(flops_of(other) ==
        doctest::Approx(tokens * of_token(2 * (3.0 * 16 * 16 + 3.0 * 16 * 24) + 64.0 * 16)));
}

TEST_CASE("T5: products of both stacks, each on its own tokens, and three kinds of attention") {
  ModelConfig t5 = tiny_config();
  t5.arch = "t5";
  t5.decoder_layers = 3;
  t5.head_size = 6;
  t5.ffn = 24;
  t5.activation = FeedForward::gated_gelu;
  constexpr double kBatch = 2, kTime = 4, kSource = 7, kWidth = 16, kInner = 2 * 6;
  const Program program = differentiate(
      build_model(t5, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .fields = {.encoder_len = 7}}));
  constexpr double kMatrix = kWidth * kInner, kFeed = 3 * kWidth * 24;
  // A decoder's keys and values of cross-attention are made of the encoder's tokens.
  const double on_source = 2 * (4 * kMatrix + kFeed) + 3 * 2 * kMatrix;
  const double on_target = 3 * (6 * kMatrix + kFeed) + 64 * kWidth;
  const double pairs = 2 * kSource * kSource + 3 * (kTime * kTime / 2 + kTime * kSource);
  const double once = 2 * (kSource * on_source + kTime * on_target) + 4 * kInner * pairs;
  CHECK(flops_of(program) == doctest::Approx(3 * kBatch * once));
}

namespace {

/// Bytes sent by all ranks of a job with tiny steps and weights of type `act`.
std::int64_t sent_by_all(ShardSpec spec, int world, DType act) {
  std::int64_t sent = 0;
  const Program differentiated = differentiate(tiny_forward(act));
  spec.world_size = spec.virtual_ranks = world;
  for (spec.rank = 0; spec.rank < world; ++spec.rank)
    sent += traffic_of(shard(differentiated, spec), spec, world).sent();
  return sent;
}

}  // namespace

TEST_CASE("volumes of all stages and orders, in elements of psi (N - 1) / N per rank") {
  constexpr int kWorld = 4;
  const std::int64_t psi = elements_of(padded_forward(kWorld));
  using Order = ShardSpec::Order;
  for (const DType act : {DType::f32, DType::bf16}) {
    const std::int64_t weights = size_of(act), gradients = size_of(DType::f32);
    for (const int accum : {1, 3}) {
      for (const bool overlap : {false, true}) {
        const auto volume = [&](int stage, Order order) {
          return sent_by_all({.accum = accum, .order = order, .stage = stage, .overlap = overlap},
                             kWorld, act);
        };
        const std::int64_t once = psi * (kWorld - 1);  // of all ranks together
        CAPTURE(accum);
        // Stage 0 gathers the reduced gradient; 1 and 2 gather the new weights instead.
        CHECK(volume(0, Order::boundary) == 2 * gradients * once);
        CHECK(volume(0, Order::step) == (accum + 1) * gradients * once);
        for (const int stage : {1, 2}) {
          CHECK(volume(stage, Order::boundary) == (gradients + weights) * once);
          CHECK(volume(stage, Order::step) == (accum * gradients + weights) * once);
        }
      }
    }
  }
}

TEST_CASE(
    "stage 3 gathers for each stretch of uses, twice for groups with a gap between their uses") {
  constexpr int kWorld = 4;
  const Program forward = padded_forward(kWorld, DType::bf16);
  const std::int64_t once = elements_of(forward) * (kWorld - 1);
  using Order = ShardSpec::Order;
  for (const int accum : {1, 3}) {
    const std::int64_t reduce = accum * 4 * once;
    const std::int64_t sent =
        sent_by_all({.accum = accum, .order = Order::step, .stage = 3}, kWorld, DType::bf16);
    // At most forward and backward in every micro-step (3 psi with one), and the tied head's
    // weights once more for the embedding; only once where the uses are adjacent.
    CHECK(sent - reduce <= 3 * accum * 2 * once);
    CHECK(sent - reduce > accum * 2 * once);
    // A group that is used again at once is not gathered twice.
    const std::int64_t kept =
        sent_by_all({.accum = accum, .order = Order::step, .stage = 3, .reuse_distance = INT64_MAX},
                    kWorld, DType::bf16);
    CHECK(kept - reduce == 2 * once);
  }
}

TEST_CASE("buckets move the same bytes in more pieces") {
  for (const int stage : {1, 3}) {
    ShardSpec spec{.accum = 2, .order = ShardSpec::Order::step, .stage = stage};
    const std::int64_t whole = sent_by_all(spec, 3, DType::bf16);
    spec.bucket = 3 * kLeaf;
    CHECK(sent_by_all(spec, 3, DType::bf16) == whole);
  }
}

TEST_CASE("offloaded states: gradients go to the host, weights come back, tiles go through files") {
  constexpr int kWorld = 2;
  ShardSpec spec = spec_of(0, kWorld, kWorld, 1, ShardSpec::Order::boundary);
  spec.stage = 1;
  spec.state_tile = 2 * kLeaf;
  const Program step = shard(differentiate(tiny_forward(DType::bf16)), spec);
  const std::int64_t own = own_bytes(padded_forward(kWorld), 0, kWorld) / 4;  // elements
  for (const Tier tier : {Tier::host, Tier::nvme}) {
    const OffloadSpec offload{.states = tier, .tile = 2 * kLeaf, .buffers = 2};
    const Traffic moved = traffic_of(offload_states(step, offload), spec, kWorld);
    CHECK(moved.to_host == 4 * own);
    CHECK(moved.to_device == 2 * own);
    CHECK(moved.optimizer_device == 0);
    // Reads gradient, master and moments, writes master, moments and weights.
    CHECK(moved.optimizer_host == (4 + 12 + 12 + 2) * own);
    CHECK(moved.nvme_read == (tier == Tier::nvme ? 12 * own : 0));
    CHECK(moved.nvme_written == moved.nvme_read);
  }
}
