// The ledger of samples, opened in the folder that rank 0 chose.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/monitor/sample_ledger.h"

namespace ds {

/// `folder`: of the run, on rank 0; the others are told. They make it where they do not see it.
/// Collective. Errors: Error{system} naming the file.
std::unique_ptr<SampleLedger> open_ledger(const std::string& folder, Group& world,
                                          Deadline deadline);

}  // namespace ds
