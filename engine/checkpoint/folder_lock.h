// Lock that lets one job at a time save into a folder.
#pragma once

#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

/// Locks DIR/.lock (flock) and writes its holder into it. The lock lasts until the file is closed,
/// also by the death of the process. Waits until `deadline`, because lost nodes release a lock
/// late. Returns an empty descriptor if the file system has no locks. Errors: Error{config} if
/// another process holds it (with host and process) or the file cannot be created.
UniqueFd lock_folder(const std::string& dir, Deadline deadline);

}  // namespace ds
