// One job at a time saves into a folder.
#pragma once

#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

/// Takes DIR/.lock (flock) and writes into it who has it. Held until the file is closed, also by
/// the death of the process; nodes that are lost let go later, so the lock is waited for until
/// `deadline`. Empty: this file system has no locks. Errors: Error{config}: another has it, naming
/// its host and process; the file cannot be made.
UniqueFd lock_folder(const std::string& dir, Deadline deadline);

}  // namespace ds
