// What this rank has that all ranks of a training must have in common.
#pragma once

#include <string>

#include "engine/config/train_config.h"
#include "engine/data/open_data.h"
#include "engine/kernels/kernels.h"

namespace ds {

/// Returns arithmetic_list() of a job that has this backend and these data.
std::string arithmetic_of(const TrainConfig& config, const Backend& backend, const DataSet& data);

/// Returns the build of this program, whether states are kept and saved, and the arithmetic list,
/// as engine/base/training_facts.h has them. It fits a message of the rank channel: long values
/// stand as digests. `config`: as loaded, without what a checkpoint or the plan decides, but after
/// settle_keeping(). Errors: Error{system} of build_id().
std::string own_facts(const TrainConfig& config, const Backend& backend, const DataSet& data);

/// Returns lines "name = value" with digests in place of long values. If that is still too long for
/// a message, one digest stands for all names that are a config key. Pure.
std::string short_facts(const std::string& lines);

}  // namespace ds
