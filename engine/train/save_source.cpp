// Begins snapshots and fills in the head of a manifest.
#include "engine/train/save_source.h"

#include <utility>

#include "engine/train/build_id.h"
#include "engine/train/state_slots.h"

namespace ds {

Manifest head_of(Trainer& trainer, int world_size, const SaveFacts& facts) {
  const RankStates states = trainer.states();
  return {.state = trainer.state(),
          .program = library_versions(),
          .build = build_id(),
          .world_size = world_size,
          .origin = facts.origin,
          .arithmetic = trainer.arithmetic(),
          .config = facts.config,
          .tensors = saved_tensors(states.program, states.spec)};
}

// Programs of odd steps have their own states, of the same sizes and in the same order.
StateCopy begin_copy(Trainer& trainer, std::vector<SavedTile>& tiles) {
  const RankStates states = trainer.states();
  tiles = saved_tiles(states.program, states.spec);
  auto* const frozen = states.memory.versioned_files();
  Snapshot& snapshot = trainer.snapshot();
  snapshot.begin(states.executor, tiles);
  if (frozen != nullptr)
    frozen->freeze(file_tiles(states.program, states.executor.offsets(), tiles));
  return {.states = {.program = states.program,
                     .executor = states.executor,
                     .held = class_of(states.spec),
                     .tiles = tiles,
                     .snapshot = snapshot.memory().data(),
                     .frozen = frozen},
          .buffer = snapshot.memory().subspan(static_cast<std::size_t>(snapshot_bytes_of(tiles)))};
}

ChunkPart SnapshotCopy::write(ChunkWriter& chunk) {
  snapshot_.wait();
  ChunkPart part = write_states(copy_.states, chunk, copy_.buffer);
  thaw();
  return part;
}

SnapshotTimes SnapshotCopy::end() {
  snapshot_.wait();
  thaw();
  return snapshot_.end();
}

void SnapshotCopy::thaw() {
  if (copy_.states.frozen != nullptr && !std::exchange(is_thawed_, true))
    copy_.states.frozen->thaw();
}

StateCopy states_now(Trainer& trainer, std::vector<SavedTile>& tiles) {
  const RankStates states = trainer.states();
  tiles = saved_tiles(states.program, states.spec);
  return {.states = {.program = states.program,
                     .executor = states.executor,
                     .held = class_of(states.spec),
                     .tiles = tiles,
                     .files = states.memory.files()},
          .buffer = states.memory.snapshot()};
}

}  // namespace ds
