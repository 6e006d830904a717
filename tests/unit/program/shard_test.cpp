// Tests of shard(): the reduced gradient has the same bits for any number of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/program/liveness.h"
#include "engine/program/slices.h"
#include "unit/program/machine.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// Returns whether a gradient, which may be padded with zeros, is the expected one.
bool is_gradient(const std::vector<float>& made, const std::vector<float>& expected) {
  if (made.size() < expected.size()) return false;
  const bool is_same =
      std::memcmp(made.data(), expected.data(), expected.size() * sizeof(float)) == 0;
  return is_same && std::all_of(made.begin() + std::ssize(expected), made.end(),
                                [](float value) { return value == 0; });
}

void check_all_worlds(ShardSpec::Order order, int virtual_ranks, int accum) {
  const Program program = differentiate(tiny_forward());
  const int groups = static_cast<int>(program.groups.size());
  std::vector<std::vector<float>> expected;
  for (int g = 0; g < groups; ++g)
    expected.push_back(expected_gradient(program, g, spec_of(0, 1, virtual_ranks, accum, order)));
  for (int world = 1; world <= virtual_ranks; ++world) {
    CAPTURE(virtual_ranks);
    CAPTURE(world);
    CAPTURE(accum);
    for (const std::int64_t bucket : {INT64_MAX, kLeaf}) {
      if (bucket == kLeaf && accum == 3) continue;  // the same exchanges as with 2
      CAPTURE(bucket);
      ShardSpec spec = spec_of(0, world, virtual_ranks, accum, order);
      spec.bucket = bucket;
      World job(program, spec);
      CHECK(job.broken_reads() == 0);
      for (int g = 0; g < groups; ++g) {
        for (const std::vector<float>& gradient : job.gradients(g))
          CHECK(is_gradient(gradient, expected[static_cast<std::size_t>(g)]));
      }
    }
  }
}

template <class Kind>
int count(const Program& program) {
  return static_cast<int>(std::ranges::count_if(program.ops, is<Kind>));
}

}  // namespace

TEST_CASE("every world size has equal slices, by a padding of less than a leaf per rank") {
  const Program forward = tiny_forward();
  for (int world = 1; world <= 16; ++world) {
    ShardSpec spec{.world_size = world, .stage = 3};
    const Program padded = pad_groups(forward, spec);
    for (std::size_t g = 0; g < padded.groups.size(); ++g) {
      const ParamGroup& group = padded.groups[g];
      CAPTURE(world);
      CHECK(group.elements - forward.groups[g].elements < world * kLeaf);
      CHECK(padded.value(group.weights).shape == Shape{group.elements});
      const std::vector<BucketCuts> buckets = buckets_of(group, spec);
      REQUIRE(buckets.size() == 1);
      for (int rank = 0; rank <= world; ++rank)
        CHECK(buckets[0][static_cast<std::size_t>(rank)] == group.elements / world * rank);
    }
    spec.whole_tensors = true;
    CHECK(pad_groups(forward, spec).groups[0].elements == forward.groups[0].elements);
  }
}

TEST_CASE("buckets are adjacent and have equal pieces, which ranks own in their slices' order") {
  const Program forward = tiny_forward();
  for (int world = 2; world <= 5; ++world) {
    for (const std::int64_t bucket : {kLeaf, 4 * kLeaf * world, INT64_MAX}) {
      const ShardSpec spec{.world_size = world, .stage = 3, .bucket = bucket};
      for (const ParamGroup& group : pad_groups(forward, spec).groups) {
        CAPTURE(world);
        CAPTURE(bucket);
        std::int64_t end = 0;
        std::vector<std::int64_t> at(static_cast<std::size_t>(world), 0);
        for (const BucketCuts& cuts : buckets_of(group, spec)) {
          CHECK(cuts.front() == end);
          end = cuts.back();
          CHECK(cuts.back() - cuts.front() <= std::max(bucket, 2 * kLeaf * world));
          for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
            CHECK(cuts[r + 1] - cuts[r] == cuts[1] - cuts[0]);
            bool is_owned = false;
            for (const OwnedPart& part : owned_by(group, spec, static_cast<int>(r))) {
              is_owned = is_owned || (part.first == cuts[r] && part.at == at[r] &&
                                      part.elements == cuts[1] - cuts[0]);
            }
            CHECK(is_owned);
            at[r] += cuts[1] - cuts[0];
          }
        }
        CHECK(end == group.elements);
      }
    }
  }
}

TEST_CASE("buckets of whole tensors: every rank owns one part, the same as without buckets") {
  const Program forward = tiny_forward();
  for (int world = 2; world <= 5; ++world) {
    ShardSpec whole{.world_size = world, .stage = 3, .whole_tensors = true};
    ShardSpec cut = whole;
    cut.bucket = 1;
    for (const ParamGroup& group : forward.groups) {
      for (int rank = 0; rank < world; ++rank) {
        const std::vector<OwnedPart> a = owned_by(group, whole, rank);
        const std::vector<OwnedPart> b = owned_by(group, cut, rank);
        REQUIRE(a.size() <= 1);
        REQUIRE(a.size() == b.size());
        if (a.empty()) continue;
        CHECK(a[0].first == b[0].first);
        CHECK(a[0].elements == b[0].elements);
      }
    }
  }
}

TEST_CASE("boundary: every world size gives the bits of the written rule") {
  for (int virtual_ranks = 1; virtual_ranks <= 8; ++virtual_ranks) {
    for (int accum = 1; accum <= 3; ++accum)
      check_all_worlds(ShardSpec::Order::boundary, virtual_ranks, accum);
  }
}

TEST_CASE("step: every world size gives the bits of the written rule") {
  for (int virtual_ranks = 1; virtual_ranks <= 8; ++virtual_ranks) {
    for (int accum = 1; accum <= 3; ++accum)
      check_all_worlds(ShardSpec::Order::step, virtual_ranks, accum);
  }
}

TEST_CASE("the two orders give different bits as soon as there is something to order") {
  const Program program = differentiate(tiny_forward());
  const auto sum = [&](ShardSpec::Order order, int virtual_ranks, int accum) {
    return expected_gradient(program, 1, spec_of(0, 1, virtual_ranks, accum, order));
  };
  using Order = ShardSpec::Order;
  CHECK(is_gradient(sum(Order::boundary, 4, 1), sum(Order::step, 4, 1)));
  CHECK_FALSE(is_gradient(sum(Order::boundary, 4, 2), sum(Order::step, 4, 2)));
}

TEST_CASE("every micro-batch of the step runs once, on whichever rank holds it") {
  const Program program = differentiate(tiny_forward());
  for (const auto order : {ShardSpec::Order::boundary, ShardSpec::Order::step}) {
    for (int world = 1; world <= 5; ++world) {
      std::set<std::pair<int, int>> seen;
      std::size_t runs = 0;
      for (int rank = 0; rank < world; ++rank) {
        for (const MicroBatch& batch :
             shard(program, spec_of(rank, world, 5, 3, order)).micro_batches) {
          seen.insert({batch.virtual_rank, batch.micro_step});
          ++runs;
        }
      }
      CHECK(seen.size() == 15);
      CHECK(runs == 15);
    }
  }
}

TEST_CASE("one rank: no communication, and no add without a second summand") {
  const Program program = differentiate(tiny_forward());
  for (const auto order : {ShardSpec::Order::boundary, ShardSpec::Order::step}) {
    const Program one = shard(program, spec_of(0, 1, 1, 1, order));
    CHECK(count<ops::Exchange>(one) == 0);
    CHECK(count<ops::AllGather>(one) == 0);
    CHECK(count<ops::Add>(one) == 0);
    const Program four = shard(program, spec_of(0, 1, 4, 1, order));
    CHECK(count<ops::Add>(four) == 3 * 4);  // three sums in each of four groups
    CHECK(count<ops::Exchange>(four) == 0);
  }
}

TEST_CASE("two ranks, one virtual rank each: one exchange, one add, one gather a group") {
  const Program program = differentiate(tiny_forward());
  for (const auto order : {ShardSpec::Order::boundary, ShardSpec::Order::step}) {
    const Program step = shard(program, spec_of(1, 2, 2, 1, order));
    CHECK(count<ops::Exchange>(step) == 4);
    CHECK(count<ops::Add>(step) == 4);
    CHECK(count<ops::AllGather>(step) == 4);
  }
}

TEST_CASE("in f32 the weights are the master; in bf16 a step has both") {
  const Program f32 = shard(differentiate(tiny_forward()), ShardSpec{});
  const Program bf16 = shard(differentiate(tiny_forward(DType::bf16)), ShardSpec{});
  CHECK(f32.groups[0].states[0].master == f32.groups[0].weights);
  CHECK(bf16.groups[0].states[0].master != bf16.groups[0].weights);
  CHECK(bf16.value(bf16.groups[0].states[0].master).dtype == DType::f32);
  CHECK(count<ops::LeafSquares>(f32) == 4);
  CHECK(count<ops::Update>(bf16) == 4);
  verify(bf16);
}

TEST_CASE("more ranks than virtual ranks are a config error") {
  const Program program = differentiate(tiny_forward());
  CHECK_THROWS_AS(shard(program, spec_of(0, 3, 2, 1, ShardSpec::Order::boundary)), Error);
}

TEST_CASE("the hash differs between programs and specs, but not between ranks") {
  const Program program = differentiate(tiny_forward());
  const auto hash = [&](int rank, int accum) {
    return hash_of_global_program(program, spec_of(rank, 4, 4, accum, ShardSpec::Order::boundary));
  };
  CHECK(hash(0, 1).size() == 32);
  CHECK(hash(0, 1) == hash(3, 1));
  CHECK(hash(0, 1) != hash(0, 2));
  CHECK(hash_of_global_program(differentiate(tiny_forward(DType::bf16)), ShardSpec{}) !=
        hash_of_global_program(program, ShardSpec{}));
}
