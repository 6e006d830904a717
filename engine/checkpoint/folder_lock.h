// Lock that lets one job at a time save into a folder.
#pragma once

#include <functional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

/// Locks DIR/.lock (flock) and writes its holder into it. The lock lasts until the file is closed,
/// also by the death of the process. Waits until `deadline`, because lost nodes release a lock
/// late. Returns an empty descriptor if the file system has no locks. Errors: Error{config} if
/// another process holds it (with host and process) or the file cannot be created.
UniqueFd lock_folder(const std::string& dir, Deadline deadline);

/// Any rank, before it reads the folder: waits until no process holds the lock, without keeping it.
/// A job whose launcher was killed saves for up to 5 s longer, and the next job must see that save.
/// `on_wait` is called with the holder ("process 4711 on node-3") before a wait. Returns at once if
/// there is no lock file, or if it cannot be read or locked. Errors: Error{config}, as
/// lock_folder(), after the deadline.
void await_folder(const std::string& dir, Deadline deadline,
                  const std::function<void(const std::string& holder)>& on_wait);

}  // namespace ds
