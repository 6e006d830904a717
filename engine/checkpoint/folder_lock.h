// Lock that lets one job at a time save into a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

/// Who locks a folder.
struct LockHolder {
  std::string job{};        // job id; empty: unknown
  std::uint64_t epoch = 0;  // of the job
};

/// Returns whether a lock whose file has this text yields to `own`: an earlier epoch of the same job
/// holds it. All ranks of that epoch have ended, or are being ended, but a network file system may
/// hold the lock of a lost node for minutes. Pure.
bool yields_to(std::string_view text, const LockHolder& own);

/// Locks DIR/.lock (flock) and writes its holder into it. The lock lasts until the file is closed,
/// also by the death of the process. Waits until `deadline`, because lost nodes release a lock
/// late; a lock that yields is replaced by a new file of that name. Returns an empty descriptor if
/// the file system has no locks. Errors: Error{config} if another process holds it (with host and
/// process) or the file cannot be created.
UniqueFd lock_folder(const std::string& dir, const LockHolder& own, Deadline deadline);

/// Any rank, before it reads the folder: waits until no process holds the lock, without keeping it.
/// A job whose launcher was killed saves for up to 5 s longer, and the next job must see that save.
/// `on_wait` is called with the holder ("process 4711 on node-3") before a wait. Returns at once if
/// there is no lock file, if it cannot be read or locked, or if the lock yields to `own`. Errors:
/// Error{config}, as lock_folder(), after the deadline.
void await_folder(const std::string& dir, const LockHolder& own, Deadline deadline,
                  const std::function<void(const std::string& holder)>& on_wait);

}  // namespace ds
