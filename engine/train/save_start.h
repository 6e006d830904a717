// Before anything is saved: all ranks see one folder, can write there, there is room, and how long
// a checkpoint will take.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/save_folder.h"
#include "engine/train/trainer.h"

namespace ds {

struct SaveStart {
  std::unique_ptr<SaveFolder> folder;
  std::int64_t bytes = 0;              // of one checkpoint
  double rate = 0;                     // bytes a second that all ranks together wrote there, now
  std::vector<std::string> set_aside;  // folders of a past that this run leaves
};

/// Takes the folder for this job. Steps after those that the trainer has finished are set aside.
/// `newest`: of Resume. Collective. Errors: Error{config} on every rank, naming the first that has
/// trouble; a newer checkpoint has come since the job looked: it is not to be set aside.
SaveStart start_saves(const CheckpointConfig& config, std::int64_t newest, Trainer& trainer,
                      Group& world);

/// For people: what a checkpoint takes, and whether a signal leaves time for it. `grace_s`: from
/// the signal to the end by force; none: not known. Pure.
std::vector<std::string> lines_of(const SaveStart& start, const CheckpointConfig& config,
                                  std::optional<double> grace_s);

}  // namespace ds
