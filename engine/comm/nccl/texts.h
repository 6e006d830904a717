// Messages of NCCL's result codes and of a group's failed start.
#pragma once

#include <span>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/nccl/api.h"

namespace ds::comm {

/// Formats as "unhandled system error (NCCL says: no route to host)".
std::string error_text(const NcclApi& api, ncclComm_t comm, ncclResult_t code);

/// Joins the members' results ("": ready) into one message; empty when all are ready.
std::string start_text(const GroupSpec& spec, std::span<const std::string> failures);

}  // namespace ds::comm
