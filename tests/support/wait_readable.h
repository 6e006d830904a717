// wait_readable(): waits for a connection to accept, bytes to read, or the end of a connection.
#pragma once

#include <poll.h>

#include "engine/base/deadline.h"

namespace ds::test {

/// Returns false when the deadline passed first.
inline bool wait_readable(int fd, Deadline deadline) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(deadline.remaining().count())) > 0;
}

}  // namespace ds::test
