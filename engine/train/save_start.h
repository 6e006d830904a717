// Checks before the first save: one folder for all ranks, writable, room; estimates a save's time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/save_folder.h"
#include "engine/train/start_vote.h"
#include "engine/train/trainer.h"

namespace ds {

struct SaveStart {
  std::unique_ptr<SaveFolder> folder;
  std::int64_t bytes = 0;              // size of one checkpoint
  double rate = 0;                     // bytes per second that all ranks together wrote in the test
  std::vector<std::string> set_aside;  // checkpoints later than the step at which this run starts
};

/// Who saves. Epochs after the first do not measure the folder again.
using SaveOwner = LockHolder;

/// Claims the folder for this job and sets aside checkpoints of later steps than the trainer has
/// finished. `newest` comes from Resume. Collective. Errors: as StartVote::together, about the
/// folder; Error{config} because a newer checkpoint appeared since the job chose its own.
SaveStart start_saves(const CheckpointConfig& config, const SaveOwner& owner, std::int64_t newest,
                      Trainer& trainer, StartVote& vote);

/// Returns lines for the user: what a checkpoint takes, and whether a signal leaves time for it.
/// Without a rate: only checkpoints that were set aside. `grace_s` is the time from the signal to KILL; none: unknown. Pure.
std::vector<std::string> lines_of(const SaveStart& start, const CheckpointConfig& config,
                                  std::optional<double> grace_s);

}  // namespace ds
