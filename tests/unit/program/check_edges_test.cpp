// Tests of edges_of() on real steps: enough edges and none too many, at every stage; a removed edge
// is found.
#include "engine/program/check_edges.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "unit/program/random_model.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

struct Placed {
  Program program;
  std::vector<std::int64_t> offsets;
  Edges edges;
};

Placed place_step(Program program) {
  Placed placed{.program = std::move(program), .offsets = {}, .edges = {}};
  verify(placed.program);
  placed.offsets = place({&placed.program}, 1000).offsets.at(0);
  placed.edges = edges_of(placed.program, placed.offsets);
  return placed;
}

// Returns one of all kinds of specs, by a number.
ShardSpec any_spec(unsigned seed) {
  ShardSpec spec = spec_of(0, 1 + static_cast<int>(seed % 4), 4, 1 + static_cast<int>(seed / 4 % 2),
                           seed / 8 % 2 == 0 ? ShardSpec::Order::step : ShardSpec::Order::boundary);
  spec.rank = static_cast<int>(seed / 3) % spec.world_size;
  spec.stage = static_cast<int>(seed / 5) % 4;
  spec.overlap = seed % 7 != 0;
  spec.prefetch = static_cast<std::int64_t>(seed % 3) * 5000;
  if (seed % 2 == 0) spec.bucket = 2048;
  if (seed % 5 == 0) spec.reuse_distance = 20000;
  if (seed % 6 == 0) spec.persist_below = 5000;
  return spec;
}

OffloadSpec any_offload(unsigned seed, const ShardSpec& spec) {
  OffloadSpec offload{
      .tile = 2 * kLeaf, .buffers = 2 + static_cast<int>(seed % 3), .overlap = spec.overlap};
  const Tier tier = seed % 2 == 0 ? Tier::host : Tier::nvme;
  if (seed % 5 > 0) offload.states = tier;
  if (seed % 5 > 1 && spec.stage == 3) offload.weights = offload.gradients = tier;
  return offload;
}

// Returns the programs of a job, made as the trainer makes them.
std::vector<Placed> any_job(unsigned seed) {
  const Program model = differentiate(RandomModel(seed).build());
  Program program = recompute(model, static_cast<Recompute>(seed % 3));
  ShardSpec spec = any_spec(seed);
  if (seed % 4 < 2) {
    program = offload_activations(program,
                                  {.ahead = static_cast<int>(seed % 5), .overlap = spec.overlap});
  }
  const OffloadSpec offload = any_offload(seed, spec);
  spec.separate_master = offload.weights != Tier::device;
  if (offload.states != Tier::device) spec.state_tile = offload.tile;
  Program step = offload_weights(shard(program, spec), spec, offload);
  step = offload_states(offload_gradients(std::move(step), offload), offload);
  std::vector<Placed> placed;
  if (seed % 7 < 3 && offload.states != Tier::device) {
    RotatedStep forms = rotate(step, offload.overlap);
    for (Program* form : {&forms.first, &forms.next, &forms.flush})
      placed.push_back(place_step(std::move(*form)));
  } else {
    placed.push_back(place_step(std::move(step)));
  }
  return placed;
}

/// Returns what a rank sends and receives on each stream, in order.
std::array<std::vector<std::string>, kStreams> messages_of(const Program& program) {
  std::array<std::vector<std::string>, kStreams> messages;
  for (const Op& op : program.ops) {
    if (!is<ops::AllGather>(op) && !is<ops::Exchange>(op)) continue;
    messages[static_cast<std::size_t>(op.stream)].push_back(
        fmt::format("{} {}", op.path,
                    is<ops::Exchange>(op) ? as<ops::Exchange>(op).comm.cuts.front()
                                          : as<ops::AllGather>(op).comm.cuts.front()));
  }
  return messages;
}

// Many ranks, so that some have no part of some groups.
Program step_of_rank(unsigned seed, int rank, UpdateMoment time) {
  ShardSpec spec{.rank = rank, .world_size = 8, .virtual_ranks = 8, .stage = 3};
  spec.overlap = seed % 3 > 0;
  spec.whole_tensors = seed % 4 > 0;
  spec.persist_below = static_cast<std::int64_t>(seed % 8) * kLeaf;
  spec.separate_master = true;
  spec.state_tile = 2 * kLeaf;
  OffloadSpec offload{.states = Tier::host, .weights = Tier::host, .tile = 2 * kLeaf};
  offload.overlap = spec.overlap;
  offload.time = time;
  Program step = shard(differentiate(RandomModel(seed).build()), spec);
  step = offload_states(offload_weights(std::move(step), spec, offload), offload);
  if (time == UpdateMoment::backward) return update_early(step, offload.overlap).step;
  return rotate(step, offload.overlap).next;
}

}  // namespace

TEST_CASE("all ranks communicate in one order, whatever part of a group they have") {
  for (const UpdateMoment time : {UpdateMoment::forward, UpdateMoment::backward}) {
    for (unsigned seed = 0; seed < 24; ++seed) {
      CAPTURE(seed);
      const auto expected = messages_of(step_of_rank(seed, 0, time));
      for (int rank = 1; rank < 8; ++rank)
        CHECK(messages_of(step_of_rank(seed, rank, time)) == expected);
    }
  }
}

TEST_CASE("edges order all conflicts of bytes, at every stage, with every offload") {
  std::size_t waits = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    for (const Placed& placed : any_job(seed)) {
      const auto missing = missing_edge(placed.program, placed.offsets, placed.edges);
      REQUIRE_MESSAGE(!missing, missing.value_or(""));
      for (const auto& of_op : placed.edges.waits) waits += of_op.size();
    }
  }
  CHECK(waits > 1000);
}

TEST_CASE("every single edge that is removed is missed, and named") {
  int removed = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    for (Placed& placed : any_job(seed)) {
      for (std::size_t i = 0; i < placed.edges.waits.size(); ++i) {
        const std::vector<int> waits = placed.edges.waits[i];
        for (std::size_t k = 0; k < waits.size(); ++k) {
          auto& now = placed.edges.waits[i];
          now.erase(now.begin() + static_cast<std::ptrdiff_t>(k));
          const auto missing = missing_edge(placed.program, placed.offsets, placed.edges);
          CAPTURE(i);
          REQUIRE(missing);
          CHECK(missing->find("nothing orders the two") != std::string::npos);
          now = waits;
          ++removed;
        }
      }
    }
  }
  CHECK(removed > 300);
}

TEST_CASE("the decision, the losses and the kernels' scratch are memory too") {
  Placed placed = place_step(
      shard(differentiate(tiny_forward()), spec_of(0, 1, 1, 1, ShardSpec::Order::boundary)));
  std::int64_t end = 0;  // no values share bytes, so no other edge orders the moves
  for (std::size_t i = 0; i < placed.offsets.size(); ++i) {
    const Home home = home_of(placed.program, static_cast<ValueId>(i));
    const bool is_view = placed.program.values[i].base != kNoValue;
    placed.offsets[i] =
        is_view ? placed.offsets[static_cast<std::size_t>(home.base)] + home.offset : end;
    if (!is_view) end += bytes_of(placed.program.values[i]);
  }
  const auto missing_when_moved = [&](bool (*is_one)(const Op&), bool forget = false) {
    Placed other = placed;
    const auto op = std::find_if(other.program.ops.rbegin(), other.program.ops.rend(), is_one);
    if (op != other.program.ops.rend()) op->stream = StreamId::evict;
    other.edges = edges_of(other.program, other.offsets);
    if (forget && op != other.program.ops.rend())
      other.edges.waits[static_cast<std::size_t>(other.program.ops.rend() - op) - 1].clear();
    return missing_edge(other.program, other.offsets, other.edges).value_or("");
  };
  CHECK(missing_when_moved(is<ops::Clear>) == "");
  CHECK(missing_when_moved(is<ops::Update>) == "");
  CHECK(missing_when_moved(is<ops::Update>, true) != "");
  for (const auto uses_scratch : {is<ops::LinearBackwardWeight>, is<ops::EmbedBackward>}) {
    CHECK(missing_when_moved(uses_scratch) == "");
    CHECK(missing_when_moved(uses_scratch, true) != "");
  }
  CHECK(missing_when_moved(is<ops::HeadLossBackward>) == "");
}
