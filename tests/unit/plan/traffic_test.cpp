// Bytes moved and work done by real programs against closed formulas.
#include "engine/plan/traffic.h"

#include <doctest/doctest.h>

#include "engine/monitor/model_flops.h"
#include "engine/plan/work.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// Elements of all groups, padding included: the formulas' psi.
std::int64_t elements_of(const Program& program) {
  std::int64_t sum = 0;
  for (const ParamGroup& group : program.groups) sum += group.elements;
  return sum;
}

/// Bytes of all ranks' slices of one rank, f32.
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
    const std::int64_t psi = 4 * elements_of(tiny_forward());
    std::int64_t sent = 0, received = 0;
    for (int rank = 0; rank < world; ++rank) {
      const ShardSpec spec = spec_of(rank, world, world, 3, ShardSpec::Order::boundary);
      const Traffic moved = traffic(spec, world);
      const std::int64_t own = own_bytes(tiny_forward(), rank, world);
      // The exchange sends all but the own slice, the gathering sends the own slice to all.
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
    const std::int64_t psi = 4 * elements_of(tiny_forward());
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

TEST_CASE("what stays on a node is counted apart") {
  const ShardSpec spec = spec_of(1, 4, 4, 1, ShardSpec::Order::boundary);
  const Traffic together = traffic(spec, 4), two = traffic(spec, 2), apart = traffic(spec, 1);
  CHECK(together.sent_to_nodes == 0);
  CHECK(apart.sent_in_node == 0);
  CHECK(two.sent_in_node > 0);
  CHECK(two.sent_to_nodes > two.sent_in_node);  // two of the three others are elsewhere
  CHECK(two.sent() == together.sent());
  CHECK(two.received() == apart.received());
}

TEST_CASE("the optimizer reads gradient and states and writes states") {
  const Program forward = tiny_forward();
  // f32: reads gradient, weights, two moments; writes weights and two moments.
  CHECK(traffic(spec_of(0, 1, 1, 1, ShardSpec::Order::boundary), 1).optimizer ==
        7 * 4 * elements_of(forward));
}

TEST_CASE("a step's matrix products are those of the convention") {
  const ModelConfig config = tiny_config();
  const double tokens = 2 * 4;
  const Program once = differentiate(tiny_forward());
  CHECK(flops_of(once) == doctest::Approx(tokens * training_flops_per_token(config, 4)));
  const Program step = shard(once, spec_of(0, 2, 4, 3, ShardSpec::Order::boundary));
  CHECK(flops_of(step) == doctest::Approx(6 * tokens * training_flops_per_token(config, 4)));
  CHECK(flops_of(recompute(once, Recompute::block)) > 1.05 * flops_of(once));
}
