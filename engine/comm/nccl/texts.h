// What NCCL's codes and the start of a group say to people.
#pragma once

#include <span>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/nccl/api.h"

namespace ds::comm {

/// "unhandled system error (NCCL says: no route to host)".
std::string error_text(const NcclApi& api, ncclComm_t comm, ncclResult_t code);

/// What each member's start came to ("": ready), told to all; empty when all are ready.
std::string start_text(const GroupSpec& spec, std::span<const std::string> failures);

}  // namespace ds::comm
