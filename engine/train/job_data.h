// What a job adds to its data: the share of the work of each rank, and the steps of its epochs.
#pragma once

#include <cstdint>

#include "engine/checkpoint/manifest.h"
#include "engine/comm/rendezvous.h"
#include "engine/config/train_config.h"
#include "engine/packing/token_cache.h"

namespace ds {

/// Returns a rank's share of tokenizing texts; rank 0 tells how far it is, if that takes long.
PackShare pack_share(const Rendezvous& job);

/// Returns the steps of train.epochs, of `epoch` samples each; the last one may read a few more.
/// `from`: the state that training goes on from, which may have been made with other batches.
std::int64_t steps_of_epochs(const TrainConfig& config, std::int64_t epoch,
                             const TrainingState& from);

}  // namespace ds
