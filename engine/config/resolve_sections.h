// The parts of resolve().
#pragma once

#include "engine/config/resolve.h"

namespace ds {

void resolve_optim(TrainConfig& config, const GivenKeys& given);
/// After resolve_optim().
void resolve_memory(TrainConfig& config, const GivenKeys& given);

}  // namespace ds
