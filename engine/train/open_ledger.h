// Opens the sample ledger in the folder that rank 0 chose.
#pragma once

#include <memory>
#include <string>

#include "engine/monitor/sample_ledger.h"
#include "engine/train/start_vote.h"

namespace ds {

/// Opens this rank's ledger. `folder` is the run's folder on rank 0, which sends it to the others;
/// they create it where it does not exist. Collective. Errors: as StartVote::together, with the
/// file's name.
std::unique_ptr<SampleLedger> open_ledger(const std::string& folder, StartVote& vote,
                                          Deadline deadline);

}  // namespace ds
