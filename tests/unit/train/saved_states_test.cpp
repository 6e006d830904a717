// Tests of saved_states.h: the ranks save every element of every state once, and its place is
// right.
#include "engine/states/saved_states.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "engine/program/freeze.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "engine/states/save_states.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

struct Form {
  int stage = 0;
  bool whole_tensors = false;
  bool split_master = false;
  Tier states = Tier::device;
  bool odd = false;
  std::int64_t bucket = INT64_MAX;
};

ShardSpec spec_for(const Form& form, int rank, int world) {
  ShardSpec spec = spec_of(rank, world, 4, 1,
                           form.stage >= 2 ? ShardSpec::Order::step : ShardSpec::Order::boundary);
  spec.stage = form.stage;
  spec.whole_tensors = form.whole_tensors;
  spec.update.split_master = form.split_master;
  spec.bucket = form.bucket;
  return spec;
}

Program step_of(const Form& form, const ShardSpec& spec) {
  const DType act = form.split_master ? DType::bf16 : DType::f32;
  Program step = shard(differentiate(tiny_forward(act)), spec);
  return offload_states(std::move(step),
                        {.states = form.states,
                         .tile = 2 * kLeaf,
                         .time = form.odd ? UpdateMoment::backward : UpdateMoment::after,
                         .odd = form.odd});
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const int stage : {0, 1, 2, 3}) {
    for (const bool tensors : {false, true}) {
      for (const bool split : {false, true}) all.push_back({stage, tensors, split});
      all.push_back({stage, tensors, false, Tier::host});
      all.push_back({stage, tensors, false, Tier::nvme});
      all.push_back({stage, tensors, false, Tier::host, true});
    }
  }
  for (std::size_t i = 0, whole = all.size(); i < whole; ++i)
    all.emplace_back(all[i]).bucket = kLeaf;
  return all;
}

/// Adds the leaves of [first, first + elements) to `seen` and checks that they are new.
void see(std::set<std::int64_t>& seen, std::int64_t first, std::int64_t elements) {
  for (std::int64_t leaf = first; leaf < first + elements; leaf += kLeaf)
    CHECK(seen.insert(leaf).second);
}

}  // namespace

TEST_CASE("the shares of all ranks cover every element of every group once") {
  for (const Form& form : forms()) {
    for (const int world : {1, 2, 3, 4}) {
      CAPTURE(world);
      for (const ParamGroup& group : step_of(form, spec_for(form, 0, world)).groups) {
        std::int64_t end = 0;
        for (int rank = 0; rank < world; ++rank) {
          const ElementRange share = even_share(group, rank, world);
          CHECK(share.first == end);
          CHECK(share.last >= share.first);
          CHECK(share.first % kLeaf == 0);
          end = share.last;
        }
        CHECK(end == group.elements);
      }
    }
  }
}

TEST_CASE("the tiles of all ranks have every leaf of every state once") {
  for (const Form& form : forms()) {
    for (const int world : {1, 2, 3}) {
      std::set<std::int64_t> seen[3];
      std::int64_t all = 0;
      for (int rank = 0; rank < world; ++rank) {
        const ShardSpec spec = spec_for(form, rank, world);
        const Program step = step_of(form, spec);
        std::int64_t start = 0;  // of the group; groups are numbered one after the other
        std::vector<std::int64_t> starts;
        for (const ParamGroup& group : step.groups) {
          starts.push_back(start);
          start += group.elements;
        }
        all = start;
        for (const SavedTile& tile : saved_tiles(step, spec))
          see(seen[tile.state], starts[static_cast<std::size_t>(tile.group)] + tile.first,
              tile.elements);
      }
      for (const std::set<std::int64_t>& state : seen) CHECK(std::ssize(state) * kLeaf == all);
    }
  }
}

TEST_CASE("a tile is within its value, at its stated elements") {
  for (const Form& form : forms()) {
    for (int rank = 0; rank < 2; ++rank) {
      const ShardSpec spec = spec_for(form, rank, 2);
      const Program step = step_of(form, spec);
      for (const SavedTile& tile : saved_tiles(step, spec)) {
        const Value& value = step.value(tile.value);
        CHECK(tile.in_files == (form.states == Tier::nvme));
        CHECK(tile.offset >= 0);
        CHECK(tile.offset + tile.elements <= value.shape.elements());
        const bool halved = form.split_master && tile.state == 0;
        CHECK((tile.high != kNoValue) == halved);
        CHECK((value.dtype == DType::i16) == halved);
        if (!halved) continue;
        const Value& high = step.value(tile.high);
        CHECK(high.dtype == DType::bf16);
        CHECK(tile.high_offset + tile.elements <= high.shape.elements());
        const ParamGroup& group = step.groups[static_cast<std::size_t>(tile.group)];
        CHECK(tile.high_offset ==
              (group.weights != kNoValue ? tile.first : offset_in_slice(group, tile.first)));
      }
    }
  }
}

TEST_CASE(
    "tiles in memory follow each other in the snapshot in whole pages; tiles in files are not in "
    "it") {
  for (const Form& form : forms()) {
    const ShardSpec spec = spec_for(form, 1, 2);
    const Program step = step_of(form, spec);
    const std::vector<SavedTile> tiles = saved_tiles(step, spec);
    std::int64_t at = 0;
    for (const SavedTile& tile : tiles) {
      CHECK(tile.snapshot_at == at);
      CHECK(tile.snapshot_bytes % 4096 == 0);
      CHECK(tile.snapshot_bytes == (tile.in_files ? 0 : tile.elements * 4));
      at += tile.snapshot_bytes;
    }
    CHECK(snapshot_bytes_of(tiles) == at);
    CHECK((at == 0) == (form.states == Tier::nvme));
  }
}

TEST_CASE("two alternating programs have the same tiles in different memory") {
  Form form{.stage = 1, .states = Tier::host, .odd = true};
  const ShardSpec spec = spec_for(form, 0, 2);
  const Program odd = step_of(form, spec);
  const Program even =
      offload_states(shard(differentiate(tiny_forward()), spec),
                     {.states = Tier::host, .tile = 2 * kLeaf, .time = UpdateMoment::backward});
  const std::vector<SavedTile> a = saved_tiles(even, spec), b = saved_tiles(odd, spec);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto place = [](const SavedTile& t) {
      return std::tuple(t.group, t.state, t.first, t.elements, t.offset, t.snapshot_at);
    };
    CHECK(place(a[i]) == place(b[i]));
    CHECK(even.value(even.value(a[i].value).base).name !=
          odd.value(odd.value(b[i].value).base).name);
  }
}

TEST_CASE("frozen weights are saved once, as masters without moments, in their own type") {
  for (const DType act : {DType::f32, DType::bf16}) {
    for (const int stage : {0, 1, 2, 3}) {
      for (const Tier weights : {Tier::device, Tier::host, Tier::nvme}) {
        if (stage < 3 && weights != Tier::device) continue;
        std::set<std::int64_t> seen[3];
        std::int64_t frozen = 0, trained = 0;
        for (int rank = 0; rank < 3; ++rank) {
          ShardSpec spec = spec_for({.stage = stage}, rank, 3);
          spec.separate_master = weights != Tier::device;
          const OffloadSpec offload{.states = weights, .weights = weights, .tile = 2 * kLeaf};
          const Program step = offload_states(
              offload_weights(
                  shard(differentiate(freeze(tiny_forward(act), {"h.1.*", "wte*"})), spec), spec,
                  offload),
              offload);
          frozen = trained = 0;
          std::vector<std::int64_t> starts;
          for (const ParamGroup& group : step.groups) {
            starts.push_back(frozen + trained);
            (group.trains ? trained : frozen) += group.elements;
          }
          for (const SavedTile& tile : saved_tiles(step, spec)) {
            const auto g = static_cast<std::size_t>(tile.group);
            CHECK(tile.frozen == !step.groups[g].trains);
            CHECK((!tile.frozen || tile.state == 0));
            CHECK((!tile.frozen || step.value(tile.value).dtype == act));
            CHECK(tile.offset + tile.elements <= step.value(tile.value).shape.elements());
            CHECK(tile.in_files == (weights == Tier::nvme));
            see(seen[tile.state], starts[g] + tile.first, tile.elements);
          }
        }
        CHECK(std::ssize(seen[0]) * kLeaf == frozen + trained);
        CHECK(std::ssize(seen[1]) * kLeaf == trained);
        CHECK(std::ssize(seen[2]) * kLeaf == trained);
      }
    }
  }
}

TEST_CASE("the chunks that ranks lay out have every element once, in pieces that do not overlap") {
  for (const Form& form : forms()) {
    std::int64_t elements = 0;
    std::int64_t all = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const ShardSpec spec = spec_for(form, rank, 3);
      const Program step = step_of(form, spec);
      const ChunkPart part = layout_of(step, spec);
      CHECK(part.rank == rank);
      std::set<std::pair<std::int64_t, std::int64_t>> places;  // begin and end
      for (const TensorEntry& tensor : part.tensors) {
        for (const StateEntry& state : tensor.states) {
          for (const Piece& piece : state.pieces) {
            elements += piece.elements;
            places.emplace(piece.at, piece.at + piece.elements * 4);
          }
        }
      }
      std::int64_t end = 0;
      for (const auto& [first, last] : places) {
        CHECK(first >= end);
        CHECK(first % 64 == 0);
        end = last;
      }
      CHECK(part.chunk.bytes == end);
      all = 0;
      for (const TensorEntry& tensor : saved_tensors(step, spec)) {
        std::int64_t count = std::ssize(tensor.states);
        for (const std::int64_t extent : tensor.shape) count *= extent;
        all += count;
      }
    }
    CHECK(elements == all);
  }
}

TEST_CASE("pieces are a 4096th of all states, of 1 to 8 MiB") {
  const auto bytes = [](std::int64_t parameters, bool trains) {
    Program program;
    program.groups.push_back({.name = "all", .trains = trains, .elements = parameters});
    return piece_elements(program) * 4;
  };
  CHECK(bytes(100, true) == 1 << 20);
  CHECK(bytes(124'000'000, true) == 1 << 20);
  CHECK(bytes(1'000'000'000, true) == 2 << 20);
  CHECK(bytes(1'000'000'000, false) == 1 << 20);  // one state
  CHECK(bytes(7'000'000'000, true) == 8 << 20);
  CHECK(bytes(405'000'000'000, true) == 8 << 20);
}
