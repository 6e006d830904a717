// Tests of properties that hold for every program, on random programs.
#include "unit/program/random_model.h"

#include <doctest/doctest.h>

#include "unit/program/machine.h"
#include "unit/program/symbolic.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

TEST_CASE("recomputation and offload keep every gradient (random programs)") {
  int clones = 0, copies = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const Program plain = differentiate(RandomModel(seed).build());
    verify(plain);
    const std::vector<std::size_t> expected = Symbolic(plain).gradients();
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      const Program again = recompute(plain, policy);
      clones += static_cast<int>(again.ops.size() - plain.ops.size());
      const Program program = offload_activations(again, {.ahead = static_cast<int>(seed % 9)});
      copies += static_cast<int>(program.ops.size() - again.ops.size());
      verify(again);
      verify(program);
      REQUIRE(Symbolic(again).gradients() == expected);
      REQUIRE(Symbolic(program).gradients() == expected);
    }
  }
  CHECK(clones > 1000);
  CHECK(copies > 1000);
}

TEST_CASE("sharded steps of random programs never read bytes that were reused too early") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Program plain = differentiate(RandomModel(seed).build());
    const Program program = offload_activations(recompute(plain, static_cast<Recompute>(seed % 3)),
                                                {.ahead = static_cast<int>(seed % 5)});
    const int world = 1 + static_cast<int>(seed % 3);
    const auto order = seed % 2 == 0 ? ShardSpec::Order::step : ShardSpec::Order::boundary;
    const World ranks(program, spec_of(0, world, 4, 1 + static_cast<int>(seed % 2), order));
    CHECK(ranks.broken_reads() == 0);
  }
}
