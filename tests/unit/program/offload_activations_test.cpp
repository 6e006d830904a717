// Tests of offload_activations(): places of the copies, equal gradients, and the peaks of both
// memories.
#include <doctest/doctest.h>

#include "unit/program/machine.h"
#include "unit/program/symbolic.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program tiny(Recompute policy, std::int64_t layers) {
  ModelConfig config = tiny_config();
  config.layers = layers;
  const Program forward =
      build_gpt2(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = DType::f32});
  return recompute(differentiate(forward), policy);
}

int place_of(const Program& program, std::string_view path) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].path == path) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

TEST_CASE("the copy to the host follows the maker, the copy back precedes the first reader") {
  const Program program = offload_activations(tiny(Recompute::none, 4), {.ahead = 5});
  verify(program);
  const int made = place_of(program, "block0.mlp.fc");
  REQUIRE(made > 0);
  const auto at = [&](int i) -> const Op& { return program.ops[static_cast<std::size_t>(i)]; };
  CHECK(at(made + 1).path == "evict.block0.mlp.fc.out");
  CHECK(at(made + 1).stream == StreamId::evict);
  CHECK(at(made + 2).path == "evict.block0.mlp.fc.pre");
  const int back = place_of(program, "fetch.block0.mlp.fc.out");
  const int reader = place_of(program, "block0.mlp.proj.grad.weight");
  REQUIRE(back > 0);
  CHECK(at(back).stream == StreamId::fetch);
  CHECK(program.value(at(back).in[0]).name == "block0.mlp.fc.out.host");
  CHECK(program.value(at(back).in[0]).tier == Tier::host);
  CHECK(program.value(at(reader).in[0]).name == "block0.mlp.fc.out.back");
  // Five ops of the model lie between, besides other copies.
  int between = 0;
  for (int i = back + 1; i < reader; ++i) between += is<ops::Copy>(at(i)) ? 0 : 1;
  CHECK(between == 5);
}

TEST_CASE("values that are small or needed soon stay") {
  const Program program = offload_activations(tiny(Recompute::none, 4), {.ahead = 5});
  CHECK(place_of(program, "evict.block0.ln1.out") > 0);
  CHECK(place_of(program, "evict.block0.ln1.mean") < 0);
  CHECK(place_of(program, "evict.block0.attn.lse") < 0);
  CHECK(place_of(program, "evict.block0.mlp.proj.out") < 0);  // no reader in the backward pass
  CHECK(place_of(program, "evict.block3.mlp.fc.out") < 0);
  CHECK(place_of(program, "evict.final.ln.sum") < 0);
}

TEST_CASE("the same gradients with activations on the host, with every recomputation") {
  for (const std::int64_t layers : {1, 2, 5}) {
    const std::vector<std::size_t> expected = Symbolic(tiny(Recompute::none, layers)).gradients();
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      for (const int ahead : {0, 3, 12}) {
        const Program program = offload_activations(tiny(policy, layers), {.ahead = ahead});
        verify(program);
        CHECK(Symbolic(program).gradients() == expected);
        const World world(program, spec_of(0, 2, 2, 2, ShardSpec::Order::step));
        CHECK(world.broken_reads() == 0);
      }
    }
  }
}

TEST_CASE("the device's peak no longer grows with the blocks, the host's does") {
  const std::int64_t width = 8 * 16 * 4;  // rows * C * bytes
  const auto growth = [&](Recompute policy, Tier tier) {
    const auto peak = [&](std::int64_t layers) {
      return peak_of(offload_activations(tiny(policy, layers), {}), tier);
    };
    return static_cast<double>(peak(20) - peak(10)) / static_cast<double>(10 * width);
  };
  CHECK(growth(Recompute::none, Tier::device) == doctest::Approx(6.0 / 16));  // mean, rstd, lse
  CHECK(growth(Recompute::none, Tier::host) == doctest::Approx(16));
  CHECK(growth(Recompute::block, Tier::device) == doctest::Approx(0));
  CHECK(growth(Recompute::block, Tier::host) == doctest::Approx(1));
}
