// The parts of resolve() that have their own files.
#pragma once

#include "engine/config/resolve.h"

namespace ds {

void resolve_optim(TrainConfig& config, const GivenKeys& given);
/// Runs after resolve_optim().
void resolve_memory(TrainConfig& config, const GivenKeys& given);

}  // namespace ds
