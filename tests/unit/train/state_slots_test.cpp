// Tests of state_slots.h: places of saved states in files, and spare slots.
#include "engine/train/state_slots.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/program/freeze.h"
#include "engine/program/offload.h"
#include "engine/train/programs.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

using FileTile = VersionedFiles::Tile;

struct Form {
  int stage = 0, rank = 0, world = 1;
  UpdateMoment time = UpdateMoment::after;
  Tier states = Tier::nvme;
};

TrainPrograms programs_of(const Form& form) {
  TrainPrograms programs;
  programs.spec = spec_of(form.rank, form.world, 4, 1, ShardSpec::Order::boundary);
  programs.spec.stage = form.stage;
  programs.saver = {.tier = Tier::host, .keeps_snapshot = true};
  const Program step = shard(differentiate(tiny_forward()), programs.spec);
  OffloadSpec offload{.states = form.states, .tile = 2 * kLeaf, .time = form.time};
  programs.step = offload_states(step, offload);
  offload.odd = true;
  if (form.time == UpdateMoment::backward) programs.odd = offload_states(step, offload);
  return programs;
}

PlacementPlan plan_of(const TrainPrograms& programs) {
  return place_programs(programs, [](const Kernels::Extents&) { return std::size_t{0}; });
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const int stage : {0, 1, 2, 3}) {
    for (const int world : {1, 3}) {
      for (int rank = 0; rank < world; ++rank) {
        for (const UpdateMoment time : {UpdateMoment::after, UpdateMoment::backward})
          all.push_back({stage, rank, world, time});
      }
    }
  }
  return all;
}

std::vector<std::int64_t> sizes_of(const std::vector<FileTile>& tiles) {
  std::vector<std::int64_t> sizes;
  for (const FileTile& tile : tiles) sizes.push_back(tile.bytes);
  std::ranges::sort(sizes);
  return sizes;
}

/// Returns the tiles that one save freezes when `program` is the next to run.
std::vector<FileTile> frozen_of(const TrainPrograms& programs, const PlacementPlan& plan,
                                const Program& program) {
  std::size_t p = 0;
  while (programs.all()[p] != &program) ++p;
  return file_tiles(program, plan.offsets[p], saved_tiles(program, programs.spec));
}

}  // namespace

TEST_CASE("every save finds a spare slot of the right size for each tile that it freezes") {
  for (const Form& form : forms()) {
    const TrainPrograms programs = programs_of(form);
    const PlacementPlan plan = plan_of(programs);
    const VersionedFiles::Slots slots = state_slots(programs, plan).value();
    std::vector<const Program*> forms_of_step{&programs.step};
    if (programs.odd) forms_of_step.push_back(&*programs.odd);
    std::vector<FileTile> all;
    for (const Program* const program : forms_of_step) {
      const std::vector<FileTile> frozen = frozen_of(programs, plan, *program);
      CHECK_FALSE(frozen.empty());
      CHECK(sizes_of(frozen) == sizes_of(slots.spares));
      all.insert(all.end(), frozen.begin(), frozen.end());
    }
    CHECK(all == slots.tiles);
    // The ranges must not overlap: VersionedFiles asserts it.
    all.insert(all.end(), slots.spares.begin(), slots.spares.end());
    std::ranges::sort(all, {}, &FileTile::offset);
    for (std::size_t i = 1; i < all.size(); ++i)
      CHECK(all[i - 1].offset + all[i - 1].bytes <= all[i].offset);
    CHECK(all.back().offset + all.back().bytes == plan.of(Tier::nvme).total_bytes);
  }
}

TEST_CASE("the plan places spare slots after everything else in the files") {
  for (const Form& form : forms()) {
    TrainPrograms programs = programs_of(form);
    const TierPlan with = plan_of(programs).of(Tier::nvme);
    programs.saver.reset();
    const PlacementPlan without = plan_of(programs);
    const std::int64_t before = without.of(Tier::nvme).total_bytes;
    CHECK_FALSE(state_slots(programs, without));
    const std::int64_t spare = spare_slot_bytes(programs.step, programs.spec);
    CHECK(with.snapshot_offset == before);
    CHECK(with.total_bytes == before + spare);
    CHECK(with.classes.back() == std::pair<std::string, std::int64_t>{"spare slots", spare});
    // For states that only one rank has, the files hold all that is written between two saves; for
    // replicated ones, at least this rank's share.
    const int sets = form.time == UpdateMoment::backward ? 2 : 1;
    if (form.stage > 0 || form.world == 1) CHECK(before == sets * spare);
    if (form.stage == 0 && form.world == 3) CHECK(sets * spare < before);
  }
}

TEST_CASE("states in memory need no spare slots") {
  const TrainPrograms programs = programs_of({.states = Tier::host});
  const PlacementPlan plan = plan_of(programs);
  CHECK(plan.of(Tier::nvme).total_bytes == 0);
  CHECK_FALSE(state_slots(programs, plan));
}

TEST_CASE("frozen weights in files need no slots, but a save reads them beside training") {
  TrainPrograms programs;
  programs.spec = spec_of(1, 3, 4, 1, ShardSpec::Order::step);
  programs.spec.stage = 3;
  programs.spec.separate_master = true;
  programs.saver = {.tier = Tier::host, .keeps_snapshot = true};
  const OffloadSpec offload{.states = Tier::host, .weights = Tier::nvme, .tile = 2 * kLeaf};
  const Program step =
      shard(differentiate(freeze(tiny_forward(), {"h.1.*", "wte*"})), programs.spec);
  programs.step = offload_states(offload_weights(step, programs.spec, offload), offload);
  const PlacementPlan plan = plan_of(programs);
  CHECK(plan.of(Tier::nvme).total_bytes > 0);
  const auto slots = state_slots(programs, plan);
  REQUIRE(slots);
  CHECK(slots->tiles.empty());
  CHECK(slots->spares.empty());
  programs.saver->keeps_snapshot = false;
  CHECK_FALSE(state_slots(programs, plan_of(programs)));
}
